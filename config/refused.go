package config

import "reflect"

// refuseUnbuilt refuses keys that this version cannot carry out: whoever sets
// one counts on it.
func (l *loader) refuseUnbuilt() {
	def := Default()
	l.refuseIfSet("store.embeddings", l.cfg.Store.Embeddings, def.Store.Embeddings,
		"vector search is not in this version; leave it out, and the query of a store search is a text search")
	l.refuseIfSet("auth.jwt", l.cfg.Auth.JWT, def.Auth.JWT,
		"tokens of an identity provider are not checked by this version; use auth.keys and leave jwt empty")
}

func (l *loader) refuseIfSet(key string, value, usual any, why string) {
	if !reflect.DeepEqual(value, usual) {
		l.complain(key, "%s", why)
	}
}
