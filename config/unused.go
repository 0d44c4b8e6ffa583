package config

import "reflect"

// warnUnused tells of keys that can be set and that nothing reads yet. What
// would be unsafe to pass over is refused instead (checkAuth).
func (l *loader) warnUnused() {
	def, d := Default(), DefaultAgent()
	l.warnIfSet("retention", l.cfg.Retention, def.Retention)
	l.warnIfSet("store.embeddings", l.cfg.Store.Embeddings, def.Store.Embeddings)
	l.warnIfSet("webhooks", l.cfg.Webhooks, def.Webhooks)
	for _, name := range sortedNames(l.cfg.Agents) {
		a, key := l.cfg.Agents[name], "agents."+name
		l.warnIfSet(key+".passthrough", a.Passthrough, d.Passthrough)
		l.warnIfSet(key+".memory.deliver", a.Memory.Deliver, d.Memory.Deliver)
		l.warnIfSet(key+".memory.namespaces", len(a.Memory.Namespaces), len(d.Memory.Namespaces))
		l.warnIfSet(key+".memory.writes", a.Memory.Writes, d.Memory.Writes)
	}
}

func (l *loader) warnIfSet(key string, value, usual any) {
	if !reflect.DeepEqual(value, usual) {
		l.warn(l.placeOf(key).complain(key, "nothing in this version uses it yet"))
	}
}
