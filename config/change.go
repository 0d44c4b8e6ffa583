package config

import (
	"reflect"
	"slices"
	"strings"
)

// Change is the result of reading a configuration while another one is in effect.
type Change struct {
	Config *Config // the configuration to put into effect
	// Keys are the keys whose values changed, such as agents.legacy.url. Restart are those that take effect only at the
	// next start. An added or removed entry is named without its keys.
	Keys, Restart []string
}

// atStart are the keys of parts that are created once: listeners, the database and its users.
var atStart = []string{
	"listen", "admin", "database", "synchronous", "secure_delete", "encryption", "shutdown_grace", "limits.database", "limits.crons", "store", "tls", "audit", "a2a.public_card",
}

// Take combines a new configuration with the one in effect. An error is Problems. A valid change may be incompatible
// with keys that need a restart, such as the removal of all API keys at a public address.
func (c *Config) Take(read *Config, o Options) (Change, error) {
	next := *read
	next.keep(c)
	change := Change{Config: &next}
	differences("", reflect.ValueOf(c).Elem(), reflect.ValueOf(read).Elem(), func(key string) {
		if slices.ContainsFunc(atStart, func(fixed string) bool { return key == fixed || strings.HasPrefix(key, fixed+".") }) {
			change.Restart = append(change.Restart, key)
		} else {
			change.Keys = append(change.Keys, key)
		}
	})
	if len(change.Restart) == 0 {
		return change, nil
	}
	r := &report{places: map[string]place{}}
	if r.validate(&next, o); len(r.problems) > 0 {
		return Change{}, r.problems
	}
	return change, nil
}

// keep copies the keys of atStart from the configuration in effect.
func (c *Config) keep(now *Config) {
	c.Listen, c.Admin, c.TLS, c.ShutdownGrace = now.Listen, now.Admin, now.TLS, now.ShutdownGrace
	c.Database, c.Synchronous, c.SecureDelete, c.Encryption = now.Database, now.Synchronous, now.SecureDelete, now.Encryption
	c.Limits.Database, c.Limits.Crons = now.Limits.Database, now.Limits.Crons
	c.Store, c.Audit = now.Store, now.Audit
	c.A2A.PublicCard = now.A2A.PublicCard
}

// differences calls tell with the keys whose values differ.
func differences(key string, a, b reflect.Value, tell func(key string)) {
	switch {
	case reflect.DeepEqual(a.Interface(), b.Interface()):
	case a.Kind() == reflect.Slice && a.Type().Elem().Kind() == reflect.Struct:
		differences(key, byID(a), byID(b), tell)
	case a.Kind() == reflect.Struct:
		for i := range a.NumField() {
			differences(join(key, a.Type().Field(i).Tag.Get("yaml")), a.Field(i), b.Field(i), tell)
		}
	case a.Kind() == reflect.Map:
		for _, name := range namesOf(a, b) {
			one, other := a.MapIndex(reflect.ValueOf(name)), b.MapIndex(reflect.ValueOf(name))
			if one.IsValid() && other.IsValid() {
				differences(join(key, name), one, other, tell)
			} else {
				tell(join(key, name))
			}
		}
	default:
		tell(key)
	}
}

// byID identifies the entries of a list by their ids instead of their positions.
func byID(list reflect.Value) reflect.Value {
	named := reflect.MakeMap(reflect.MapOf(reflect.TypeFor[string](), list.Type().Elem()))
	for i := range list.Len() {
		named.SetMapIndex(list.Index(i).FieldByName("ID"), list.Index(i))
	}
	return named
}

func namesOf(maps ...reflect.Value) (names []string) {
	for _, m := range maps {
		for _, name := range m.MapKeys() {
			names = append(names, name.String())
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
