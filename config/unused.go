package config

import "reflect"

// warnUnused tells of keys that can be set and that nothing reads yet. What
// would be unsafe to pass over is refused instead (checkAuth).
func (l *loader) warnUnused() {
	def := Default()
	l.warnIfSet("retention", l.cfg.Retention, def.Retention)
	l.warnIfSet("store.embeddings", l.cfg.Store.Embeddings, def.Store.Embeddings)
	for _, name := range sortedNames(l.cfg.Agents) {
		l.warnIfSet("agents."+name+".passthrough", l.cfg.Agents[name].Passthrough, DefaultAgent().Passthrough)
	}
}

func (l *loader) warnIfSet(key string, value, usual any) {
	if !reflect.DeepEqual(value, usual) {
		l.warn(l.placeOf(key).complain(key, "nothing in this version uses it yet"))
	}
}
