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

// resolveSecrets replaces env:NAME and file:PATH by what they name.
func (l *loader) resolveSecrets() {
	l.resolveIn("", reflect.ValueOf(l.cfg).Elem())
}

func (l *loader) resolveIn(key string, v reflect.Value) {
	switch {
	case v.Type() == secretType:
		v.SetString(string(l.resolve(key, Secret(v.String()))))
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			l.resolveIn(join(key, v.Type().Field(i).Tag.Get("yaml")), v.Field(i))
		}
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			l.resolveIn(fmt.Sprintf("%s[%d]", key, i), v.Index(i))
		}
	case v.Kind() == reflect.Map:
		names := v.MapKeys()
		slices.SortFunc(names, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		for _, name := range names {
			elem := mapElem(v, name.String())
			l.resolveIn(join(key, name.String()), elem)
			v.SetMapIndex(name, elem)
		}
	}
}

func (l *loader) resolve(key string, s Secret) Secret {
	if name, ok := strings.CutPrefix(string(s), "env:"); ok {
		return l.secretFromEnv(key, name)
	}
	if path, ok := strings.CutPrefix(string(s), "file:"); ok {
		return l.secretFromFile(key, path)
	}
	if at := l.places[key]; s != "" && at.line > 0 && !strings.HasPrefix(string(s), "sha256:") {
		l.warn(at.complain(key, "holds a secret in plain; env:NAME or file:PATH keeps it out of this file"))
	}
	return s
}

func (l *loader) secretFromEnv(key, name string) Secret {
	value := l.environ[name]
	if value == "" {
		l.complain(key, "the environment variable %s is not set; set it, or write file:PATH", name)
	}
	return Secret(value)
}

func (l *loader) secretFromFile(key, path string) Secret {
	raw, mode, err := readRegular(path, maxSecret)
	switch {
	case errors.Is(err, errTooLarge):
		l.complain(key, "the secret's file %s is larger than 64 KiB; is it the right one?", path)
	case err != nil:
		l.complain(key, "the secret's file %s cannot be read: %s", path, reason(err))
	case strings.TrimRight(string(raw), "\r\n") == "":
		l.complain(key, "the secret's file %s is empty", path)
	default:
		if lax := laxity(mode); lax != "" {
			l.warn(l.placeOf(key).complain(key, "the secret's file %s %s; chmod 600 %s keeps it to the bridge", path, lax, path))
		}
		return Secret(strings.TrimRight(string(raw), "\r\n"))
	}
	return ""
}

func (l *loader) warn(c Complaint) {
	if l.opt.Warn != nil {
		l.opt.Warn(c)
	}
}

// complain is about a key whose value does not do; what was already complained
// about is left alone, since one slip needs one line.
func (l *loader) complain(key, format string, args ...any) {
	for _, c := range l.complaints {
		if c.Key == key {
			return
		}
	}
	l.add(l.placeOf(key).complain(key, format, args...))
}

// placeOf is where the key was written, or else the nearest one above it.
func (l *loader) placeOf(key string) place {
	for key != "" {
		if p, ok := l.places[key]; ok {
			return p
		}
		key = key[:max(strings.LastIndexAny(key, ".["), 0)]
	}
	return place{}
}
