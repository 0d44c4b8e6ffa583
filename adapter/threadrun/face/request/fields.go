package request

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

// Fields is a JSON object of a request, split into its members. Its getters treat null as absent. They collect
// problems, which Err returns as one error.
type Fields struct {
	path    string // "" at the top, otherwise "config."
	members []rawjson.Member
	wanted  []string    // names that getters requested; only if answer is not nil
	asked   []bool      // by member; may be shorter than members
	answer  http.Header // header for the names of other members, see CheckUnknown; may be nil
	errs    *[]Problem
}

// Problem is one error in a request.
type Problem struct {
	Field   string `json:"field"`
	Message string `json:"message"`
}

// ReportIgnoredIn makes Err add the names of members that no getter requested to a response header.
func (o *Fields) ReportIgnoredIn(answer http.Header) {
	o.answer, o.wanted = answer, make([]string, 0, 40)
}

// Members returns the members as they were sent, without marking them as requested.
func (o *Fields) Members() []rawjson.Member { return o.members }

// Apart returns members as an object of the same request under another path.
func (o *Fields) Apart(path string, members ...rawjson.Member) *Fields {
	return &Fields{path: path, members: members, errs: o.errs}
}

// Remove removes members. It resets which members were requested, because their positions change.
func (o *Fields) Remove(which func(rawjson.Member) bool) {
	o.asked = nil
	o.members = slices.DeleteFunc(o.members, which)
}

// Add adds a member that the request does not have.
func (o *Fields) Add(m rawjson.Member) { o.members = append(o.members, m) }

// Sent returns a member as it was sent, including null, or nil if it is absent.
func (o *Fields) Sent(name string) json.RawMessage {
	if o.answer != nil {
		o.wanted = append(o.wanted, name)
	}
	for i := range o.members {
		if o.members[i].Name == name {
			o.ask(i)
			return o.members[i].Value
		}
	}
	return nil
}

// ask marks a member as requested.
func (o *Fields) ask(i int) {
	if i >= len(o.asked) {
		o.asked = append(o.asked, make([]bool, len(o.members)-len(o.asked))...)
	}
	o.asked[i] = true
}

// Get returns a member, or nil if it is absent or null.
func (o *Fields) Get(name string) json.RawMessage {
	v := o.Sent(name)
	if rawjson.Kind(v) == 'n' {
		return nil
	}
	return v
}

// Refuse records an error in a member. The format continues the member's name.
func (o *Fields) Refuse(name, format string, args ...any) {
	field := o.path + name
	*o.errs = append(*o.errs, Problem{field, field + " " + fmt.Sprintf(format, args...)})
}

// Blame records an error in something other than a member, such as a header.
func (o *Fields) Blame(field, message string) { *o.errs = append(*o.errs, Problem{field, message}) }

// ErrSoFar returns the errors found so far, or nil. More members may be read later.
func (o *Fields) ErrSoFar() error { return Invalid(*o.errs) }

// Err returns the errors in the object and everything below it, or nil. It must be called after all known members have
// been read.
func (o *Fields) Err() error {
	o.CheckUnknown()
	return Invalid(*o.errs)
}

// Invalid returns an error of class Invalid with the problems as its detail and the first one as its text, or nil if
// there are none.
func Invalid(list []Problem) error {
	if len(list) == 0 {
		return nil
	}
	e := mapping.Errorf(mapping.Invalid, mapping.CodeInvalid, "%s", sentence(list[0].Message))
	e.Detail = list
	return e
}

// sentence adds a full stop to words unless they end in a question mark.
func sentence(words string) string {
	if strings.HasSuffix(words, "?") {
		return words
	}
	return words + "."
}

// typed returns a member that must be of one kind. what describes the kind in a problem.
func (o *Fields) typed(name string, kind byte, what string) json.RawMessage {
	v := o.Get(name)
	if v == nil || rawjson.Kind(v) == kind {
		return v
	}
	o.Refuse(name, "must be %s, not %s", what, KindName(v))
	return nil
}

// KindName returns the name of a value's kind for messages, such as "an object".
func KindName(v json.RawMessage) string {
	switch rawjson.Kind(v) {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case 't', 'f':
		return "true or false"
	default:
		return "null"
	}
}

// Object returns a member that must be an object, or nil if it is absent or null.
func (o *Fields) Object(name string) json.RawMessage { return o.typed(name, '{', "an object") }

// List returns a member that must be a list, or nil if it is absent or null.
func (o *Fields) List(name string) json.RawMessage { return o.typed(name, '[', "a list") }

// Text returns a member that must be text (see mapping.IsText), or "" if it is absent.
func (o *Fields) Text(name string) string {
	return o.checked(name, rawjson.TextOf(o.typed(name, '"', "a string")))
}

// checked reports a problem if s is not text.
func (o *Fields) checked(name, s string) string {
	if !mapping.IsText(s) {
		*o.errs = append(*o.errs, NoText(o.path+name))
	}
	return s
}

// UUID returns a member that must be a UUID, in lower case.
func (o *Fields) UUID(name string) string {
	s := strings.ToLower(o.Text(name))
	if s != "" && !mapping.IsUUID(s) || o.Get(name) != nil && rawjson.Kind(o.Get(name)) == '"' && s == "" {
		o.Refuse(name, "must be a UUID")
		return ""
	}
	return s
}

// Enum returns a member that must be one of the allowed strings, or "" if it is absent.
func (o *Fields) Enum(name string, allowed ...string) string {
	v := o.typed(name, '"', "a string")
	if v == nil {
		return ""
	}
	s := rawjson.TextOf(v)
	if !slices.Contains(allowed, s) {
		o.Refuse(name, "must be one of %s", strings.Join(allowed, ", "))
		return ""
	}
	return s
}

// Whole returns a member that must be a whole number from min to max, or def if it is absent.
func (o *Fields) Whole(name string, def, min, max int) int {
	v := o.typed(name, '0', "a number")
	if v == nil {
		return def
	}
	n, ok := wholeNumber(string(v))
	if !ok || n < min || n > max {
		o.Refuse(name, "must be a whole number from %d to %d", min, max)
		return def
	}
	return n
}

// wholeNumber reads 3 and also 3.0, which some languages write.
func wholeNumber(s string) (int, bool) {
	if i := strings.IndexByte(s, '.'); i > 0 && strings.Trim(s[i+1:], "0") == "" {
		s = s[:i]
	}
	n, err := strconv.Atoi(s)
	return n, err == nil
}

// Flag returns a member that must be true or false, or def if it is absent.
func (o *Fields) Flag(name string, def bool) bool {
	switch v := o.Get(name); rawjson.Kind(v) {
	case 0:
		return def
	case 't', 'f':
		return rawjson.Kind(v) == 't'
	default:
		o.Refuse(name, "must be true or false, not %s", KindName(v))
		return def
	}
}

// FlagSent is like Flag but returns nil if the member is absent.
func (o *Fields) FlagSent(name string) *bool {
	flag := o.Flag(name, false)
	if o.Get(name) == nil {
		return nil
	}
	return &flag
}

// Texts returns a member that must be a list of strings, or nil if it is absent.
func (o *Fields) Texts(name string) []string {
	v := o.List(name)
	if v == nil {
		return nil
	}
	out := []string{}
	for i, e := range rawjson.ElementsOf(v) {
		if rawjson.Kind(e) != '"' {
			o.Refuse(name+"."+strconv.Itoa(i), "must be a string, not %s", KindName(e))
			return nil
		}
		out = append(out, o.checked(name+"."+strconv.Itoa(i), rawjson.TextOf(e)))
	}
	return out
}

// Sub splits a member that must be an object. It returns nil if the member is absent.
func (o *Fields) Sub(name string) *Fields { return o.Within(name, o.Object(name)) }

// Within splits value, which is an object of this request at the path of name.
func (o *Fields) Within(name string, value json.RawMessage) *Fields {
	if value == nil {
		return nil
	}
	if rawjson.CountMembers(value) > mostMembers {
		o.Refuse(name, "has more than %d keys", mostMembers)
		return nil
	}
	members, err := rawjson.Members(value)
	if err != nil {
		return nil // not reached: the whole body was checked
	}
	return &Fields{path: o.path + name + ".", members: members, answer: o.answer, errs: o.errs}
}

// Needed refuses a request in which a member was not sent.
func (o *Fields) Needed(name string, v json.RawMessage) json.RawMessage {
	if o.Get(name) == nil {
		o.Refuse(name, "is required")
	}
	return v
}

// Name returns a member that must be non-empty text, or "" if it is absent.
func (o *Fields) Name(Name string) string {
	s := o.Text(Name)
	if s == "" && rawjson.Kind(o.Get(Name)) == '"' {
		o.Refuse(Name, "must not be empty")
	}
	return s
}

// TextOrTexts reads one string or a list of them. A nil allowed accepts all.
func (o *Fields) TextOrTexts(name string, allowed []string) []string {
	v := o.Get(name)
	var list []string
	switch rawjson.Kind(v) {
	case 0:
		return nil
	case '"':
		list = []string{o.Text(name)}
	case '[':
		list = o.Texts(name)
	default:
		o.Refuse(name, "must be a string or a list of strings, not %s", KindName(v))
	}
	for _, s := range list {
		if allowed != nil && !slices.Contains(allowed, s) {
			o.Refuse(name, "contains the unknown mode %q. The modes are %s", s, strings.Join(allowed, ", "))
		}
	}
	return list
}

// Nodes reads "*" or a list of node names.
func (o *Fields) Nodes(name string) []string {
	switch v := o.Get(name); rawjson.Kind(v) {
	case 0:
		return nil
	case '[':
		return o.Texts(name)
	default:
		if s, ok := rawjson.Text(v); ok && s == "*" {
			return []string{s}
		}
		o.Refuse(name, `must be "*" or a list of nodes' names`)
		return nil
	}
}

// Element splits one element of a list, which must be an object.
func (o *Fields) Element(list string, i int, raw json.RawMessage) *Fields {
	name := list + "." + strconv.Itoa(i)
	if rawjson.Kind(raw) != '{' {
		o.Refuse(name, "must be an object, not %s", KindName(raw))
		return nil
	}
	return o.Within(name, raw)
}

// NoText returns the problem about a field whose value is not text (mapping.IsText).
func NoText(field string) Problem {
	return Problem{field, field + " must be UTF-8 without U+0000"}
}
