package config

import (
	"net/textproto"
	"net/url"
	"slices"
	"strings"
)

// report collects the problems of a configuration.
type report struct {
	places   map[string]place // key → origin of its value
	problems Problems
	told     func(Problem) // Options.Warn
	read     func(file string, content []byte)
}

// looked passes a file that was read to Options.Read.
func (r *report) looked(file string, content []byte) {
	if r.read != nil {
		r.read(file, content)
	}
}

// lookedAt passes files that others have read to Options.Read.
func (r *report) lookedAt(files ...string) {
	for _, file := range files {
		raw, _ := ReadFile(file)
		r.looked(file, raw)
	}
}

func (r *report) add(c Problem) { r.problems = append(r.problems, c) }

func (r *report) warn(c Problem) {
	if r.told != nil {
		r.told(c)
	}
}

// problem reports a problem with a key's value. Further problems with the same key are dropped.
func (r *report) problem(key, format string, args ...any) {
	for _, c := range r.problems {
		if c.Key == key {
			return
		}
	}
	r.add(r.placeOf(key).problem(key, format, args...))
}

// placeOf returns the origin of the key, or of the nearest one above it.
func (r *report) placeOf(key string) place {
	for key != "" {
		if p, ok := r.places[key]; ok {
			return p
		}
		key = key[:max(strings.LastIndexAny(key, ".["), 0)]
	}
	return place{}
}

func (r *report) oneOf(key, value string, allowed ...string) {
	if !slices.Contains(allowed, value) {
		r.problem(key, "cannot be %q; choose one of %s", value, strings.Join(allowed, ", "))
	}
}

func (r *report) atLeast(key string, value, least int64) {
	if value < least {
		r.problem(key, "cannot be %d; the minimum is %d", value, least)
	}
}

func (r *report) positive(key string, ok bool) {
	if !ok {
		r.problem(key, "cannot be 0; leave the key out for the default")
	}
}

// checkURL requires a complete URL.
func (r *report) checkURL(key, raw string) {
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		r.problem(key, "is not a URL; write it like http://127.0.0.1:8000")
	case u.User != nil: // first, because the problem must not show it
		r.problem(key, "contains a user name or password; send credentials in headers instead")
	case u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "":
		r.problem(key, "cannot be %q; write it like http://127.0.0.1:8000", raw)
	case u.RawQuery != "" || u.Fragment != "":
		r.problem(key, "cannot have a query or fragment; end it with the path")
	}
}

// checkText refuses U+0000, which the database cannot store as text. YAML is always UTF-8.
func (r *report) checkText(at, s string) {
	if strings.Contains(s, "\x00") {
		r.problem(at, "contains U+0000, which cannot be stored; leave it out")
	}
}

// checkHeaders checks names and values of headers. Problems never show a value.
func (r *report) checkHeaders(key string, headers map[string]Secret) {
	for _, name := range sortedNames(headers) {
		switch value := headers[name].Reveal(); {
		case !headerName.MatchString(name):
			r.problem(join(key, name), "this is not the name of a header")
		case slices.Contains(ownHeaders, textproto.CanonicalMIMEHeaderKey(name)):
			r.problem(join(key, name), "this header belongs to the bridge and cannot be set")
		case strings.ContainsFunc(value, isControl):
			r.problem(join(key, name), "the value contains a line break or another control character")
		}
	}
}
