package config

import (
	"reflect"
	"slices"
	"strings"
)

// Change is what becomes of a configuration that is read while another is in force.
type Change struct {
	Config *Config // from now on
	// Keys are those with another value, and Restart those of which the next start takes it, such as agents.legacy.url.
	// An entry that came or went is named without its keys.
	Keys, Restart []string
}

// atStart are the keys that are read by what is made once: listeners, the database and what works on it.
var atStart = []string{
	"listen", "admin", "database", "synchronous", "secure_delete", "encryption", "shutdown_grace", "limits.database", "limits.crons", "store", "tls", "audit",
}

// Take returns what a configuration that was read makes of the one in force. The error is Complaints: what is fine by
// itself may not go with what only a restart would change, as no keys at an address that can be reached from elsewhere.
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
	if r.validate(&next, o); len(r.complaints) > 0 {
		return Change{}, r.complaints
	}
	return change, nil
}

// keep takes the keys of atStart from the configuration in force.
func (c *Config) keep(now *Config) {
	c.Listen, c.Admin, c.TLS, c.ShutdownGrace = now.Listen, now.Admin, now.TLS, now.ShutdownGrace
	c.Database, c.Synchronous, c.SecureDelete, c.Encryption = now.Database, now.Synchronous, now.SecureDelete, now.Encryption
	c.Limits.Database, c.Limits.Crons = now.Limits.Database, now.Limits.Crons
	c.Store, c.Audit = now.Store, now.Audit
}

// differences calls tell with the keys in which two values differ.
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

// byID makes an entry of a list be named by its id, which its place in the list would not tell.
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
