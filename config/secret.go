package config

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// GoString hides the secret from %#v.
func (s Secret) GoString() string { return s.String() }

// MarshalText hides the secret from encoders.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// secretResolver replaces env:NAME and file:PATH with their values.
type secretResolver struct {
	*report
	environ map[string]string
}

// resolveIn resolves all secrets in the value of a key.
func (x secretResolver) resolveIn(key string, v reflect.Value) {
	switch {
	case v.Type() == secretType:
		v.SetString(string(x.resolve(key, Secret(v.String()))))
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			x.resolveIn(join(key, v.Type().Field(i).Tag.Get("yaml")), v.Field(i))
		}
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			x.resolveIn(fmt.Sprintf("%s[%d]", key, i), v.Index(i))
		}
	case v.Kind() == reflect.Map:
		names := v.MapKeys()
		slices.SortFunc(names, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		for _, name := range names {
			elem := mapElem(v, name.String())
			x.resolveIn(join(key, name.String()), elem)
			v.SetMapIndex(name, elem)
		}
	}
}

func (x secretResolver) resolve(key string, s Secret) Secret {
	if name, ok := strings.CutPrefix(string(s), "env:"); ok {
		return x.secretFromEnv(key, name)
	}
	if path, ok := strings.CutPrefix(string(s), "file:"); ok {
		return x.secretFromFile(key, path)
	}
	if at := x.places[key]; s != "" && at.line > 0 && !strings.HasPrefix(string(s), "sha256:") {
		x.warn(at.problem(key, "contains a secret in plain text; use env:NAME or file:PATH to keep it out of this file"))
	}
	return s
}

func (x secretResolver) secretFromEnv(key, name string) Secret {
	value := x.environ[name]
	if value == "" {
		x.problem(key, "the environment variable %s is not set; set it, or write file:PATH", name)
	}
	return Secret(value)
}

func (x secretResolver) secretFromFile(key, path string) Secret {
	raw, mode, err := readRegular(path, maxSecret)
	x.looked(path, raw)
	switch {
	case errors.Is(err, errTooLarge):
		x.problem(key, "the secret's file %s is larger than 64 KiB; is it the right one?", path)
	case err != nil:
		x.problem(key, "the secret's file %s cannot be read: %s", path, reason(err))
	case strings.TrimRight(string(raw), "\r\n") == "":
		x.problem(key, "the secret's file %s is empty", path)
	default:
		if lax := laxity(mode); lax != "" {
			x.warn(x.placeOf(key).problem(key, "the secret's file %s %s; to restrict it to the bridge, run chmod 600 %s", path, lax, path))
		}
		return Secret(strings.TrimRight(string(raw), "\r\n"))
	}
	return ""
}
