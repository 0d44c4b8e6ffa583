package face

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

// query reads the parameters behind the question mark; like fields, it notes
// complaints. An empty parameter is an absent one.
type query struct {
	values url.Values
	errs   []complaint
}

func (q *query) complain(name, text string) {
	q.errs = append(q.errs, complaint{name, name + " " + text})
}

func (q *query) err() error { return invalid(q.errs) }

// has reports whether a parameter was sent, empty or not.
func (q *query) has(name string) bool { return q.values.Has(name) }

// repeated are the values of a parameter as they were sent.
func (q *query) repeated(name string) []string { return q.values[name] }

func (q *query) text(name string) string { return q.values.Get(name) }

// uuid reads an id; "" when it is absent.
func (q *query) uuid(name string) string {
	id := strings.ToLower(q.values.Get(name))
	if id != "" && !mapping.IsUUID(id) {
		q.complain(name, "must be a UUID")
		return ""
	}
	return id
}

func (q *query) whole(name string, def, min, max int) int {
	s := q.values.Get(name)
	if s == "" {
		return def
	}
	n, ok := wholeNumber(s)
	if !ok || n < min || n > max {
		q.complain(name, "must be a whole number from "+strconv.Itoa(min)+" to "+strconv.Itoa(max))
		return def
	}
	return n
}

// flag reads 1, true, 0 and false, in any case.
func (q *query) flag(name string) bool {
	switch strings.ToLower(q.values.Get(name)) {
	case "", "0", "false":
		return false
	case "1", "true":
		return true
	default:
		q.complain(name, "must be true or false")
		return false
	}
}

func (q *query) enum(name string, allowed ...string) string {
	s := q.values.Get(name)
	if s != "" && !slices.Contains(allowed, s) {
		q.complain(name, "must be one of "+strings.Join(allowed, ", "))
		return ""
	}
	return s
}

// texts reads a parameter that may be repeated, be a list with commas, or be a
// JSON list of strings: SDK versions differ in how they write one.
func (q *query) texts(name string) []string {
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

func (q *query) jsonTexts(name, v string) []string {
	var out []string
	list := splitList([]byte(v))
	if list == nil {
		q.complain(name, "must be a list of strings")
	}
	for _, e := range list {
		if rawjson.Kind(e) != '"' {
			q.complain(name, "must be a list of strings")
			return nil
		}
		out = append(out, unquote(e))
	}
	return out
}

func queryOf(r *http.Request) *query { return &query{values: r.URL.Query()} }
