package config

import "reflect"

// warnUnused tells of keys that can be set and that nothing reads yet. What
// somebody would count on is refused instead (refuseUnbuilt).
func (l *loader) warnUnused() {
	def := Default()
	l.warnIfSet("retention", l.cfg.Retention, def.Retention)
}

func (l *loader) warnIfSet(key string, value, usual any) {
	if !reflect.DeepEqual(value, usual) {
		l.warn(l.placeOf(key).complain(key, "nothing in this version uses it yet"))
	}
}
