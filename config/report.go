package config

import (
	"net/textproto"
	"net/url"
	"slices"
	"strings"
)

// report is what was found wrong with a configuration, each thing with the place where it was written.
type report struct {
	places     map[string]place // key → where it was last set
	complaints Complaints
	told       func(Problem) // Options.Warn
	read       func(file string, content []byte)
}

// looked reports a file to Options.Read.
func (r *report) looked(file string, content []byte) {
	if r.read != nil {
		r.read(file, content)
	}
}

// lookedAt reports files that others than the loader read.
func (r *report) lookedAt(files ...string) {
	for _, file := range files {
		raw, _ := ReadFile(file)
		r.looked(file, raw)
	}
}

func (r *report) add(c Problem) { r.complaints = append(r.complaints, c) }

func (r *report) warn(c Problem) {
	if r.told != nil {
		r.told(c)
	}
}

// complain is about a key whose value does not do; what was already complained about is left alone, since one slip
// needs one line.
func (r *report) complain(key, format string, args ...any) {
	for _, c := range r.complaints {
		if c.Key == key {
			return
		}
	}
	r.add(r.placeOf(key).complain(key, format, args...))
}

// placeOf is where the key was written, or else the nearest one above it.
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
		r.complain(key, "cannot be %q; choose one of %s", value, strings.Join(allowed, ", "))
	}
}

func (r *report) atLeast(key string, value, least int64) {
	if value < least {
		r.complain(key, "cannot be %d; the least is %d", value, least)
	}
}

func (r *report) positive(key string, ok bool) {
	if !ok {
		r.complain(key, "cannot be 0; leave the key out for the default")
	}
}

// checkURL wants an address that can be called without further knowledge.
func (r *report) checkURL(key, raw string) {
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		r.complain(key, "is not a URL; write it like http://127.0.0.1:8000")
	case u.User != nil: // before the rest: the complaint must not show it
		r.complain(key, "holds a user name or password; send credentials with headers instead")
	case u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "":
		r.complain(key, "cannot be %q; write it like http://127.0.0.1:8000", raw)
	case u.RawQuery != "" || u.Fragment != "":
		r.complain(key, "cannot have a query or fragment; end it with the path")
	}
}

// checkText refuses a value that no database can keep as a text. YAML is UTF-8 in any case.
func (r *report) checkText(at, s string) {
	if strings.Contains(s, "\x00") {
		r.complain(at, "holds U+0000, which cannot be stored; leave it out")
	}
}

// checkHeaders checks names and values of headers. Its complaints never show a value.
func (r *report) checkHeaders(key string, headers map[string]Secret) {
	for _, name := range sortedNames(headers) {
		switch value := headers[name].Reveal(); {
		case !headerName.MatchString(name):
			r.complain(join(key, name), "this is not the name of a header")
		case slices.Contains(ownHeaders, textproto.CanonicalMIMEHeaderKey(name)):
			r.complain(join(key, name), "this header belongs to the bridge and cannot be set")
		case strings.ContainsFunc(value, isControl):
			r.complain(join(key, name), "the value holds a line break or another control character")
		}
	}
}
