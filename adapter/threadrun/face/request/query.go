package request

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

// Query reads query parameters. Like Fields, it collects problems. An empty parameter counts as absent.
type Query struct {
	values url.Values
	errs   []Problem
}

// Refuse records an error in a parameter. The text continues the parameter's name.
func (q *Query) Refuse(name, text string) {
	q.errs = append(q.errs, Problem{name, name + " " + text})
}

// Err returns the errors in the parameters, of class Invalid, or nil.
func (q *Query) Err() error { return Invalid(q.errs) }

// Has reports whether a parameter was sent, even if it is empty.
func (q *Query) Has(name string) bool { return q.values.Has(name) }

// Repeated returns the values of a parameter as they were sent.
func (q *Query) Repeated(name string) []string { return q.values[name] }

// Text returns the first value of a parameter, or "" if it is absent.
func (q *Query) Text(name string) string { return q.values.Get(name) }

// UUID reads an id. It returns "" if it is absent.
func (q *Query) UUID(name string) string {
	id := strings.ToLower(q.values.Get(name))
	if id != "" && !mapping.IsUUID(id) {
		q.Refuse(name, "must be a UUID")
		return ""
	}
	return id
}

// Whole returns a parameter that must be a whole number from min to max, or def if it is absent or invalid.
func (q *Query) Whole(name string, def, min, max int) int {
	s := q.values.Get(name)
	if s == "" {
		return def
	}
	n, ok := wholeNumber(s)
	if !ok || n < min || n > max {
		q.Refuse(name, "must be a whole number from "+strconv.Itoa(min)+" to "+strconv.Itoa(max))
		return def
	}
	return n
}

// Flag reads 1, true, 0 and false, in any case.
func (q *Query) Flag(name string) bool {
	switch strings.ToLower(q.values.Get(name)) {
	case "", "0", "false":
		return false
	case "1", "true":
		return true
	default:
		q.Refuse(name, "must be true or false")
		return false
	}
}

// FlagSent is like Flag but returns nil if the parameter is absent.
func (q *Query) FlagSent(name string) *bool {
	flag := q.Flag(name)
	if q.values.Get(name) == "" {
		return nil
	}
	return &flag
}

// Enum returns a parameter that must be one of the allowed values, or "" if it is absent or invalid.
func (q *Query) Enum(name string, allowed ...string) string {
	s := q.values.Get(name)
	if s != "" && !slices.Contains(allowed, s) {
		q.Refuse(name, "must be one of "+strings.Join(allowed, ", "))
		return ""
	}
	return s
}

// Texts reads a list of strings. Versions of the SDKs differ, so the parameter may be repeated, separated by commas, or
// a JSON list.
func (q *Query) Texts(name string) []string {
	var out []string
	for _, v := range q.values[name] {
		if strings.HasPrefix(v, "[") {
			out = append(out, q.jsonTexts(name, v)...)
			continue
		}
		for _, part := range strings.Split(v, ",") {
			if part = strings.TrimSpace(part); part != "" {
				out = append(out, part)
			}
		}
	}
	return out
}

func (q *Query) jsonTexts(name, v string) []string {
	var out []string
	list := rawjson.ElementsOf([]byte(v))
	if list == nil {
		q.Refuse(name, "must be a list of strings")
	}
	for _, e := range list {
		if rawjson.Kind(e) != '"' {
			q.Refuse(name, "must be a list of strings")
			return nil
		}
		out = append(out, rawjson.TextOf(e))
	}
	return out
}

// QueryOf returns the parameters of a request.
func QueryOf(r *http.Request) *Query { return &Query{values: r.URL.Query()} }
