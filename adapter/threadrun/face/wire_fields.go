package face

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

// fields is a JSON object of a request, split into its members. Its getters
// treat null as absent and note complaints, which err reports together.
type fields struct {
	path    string // "" at the top, else "config."
	members []rawjson.Member
	wanted  []string    // the names that getters asked for, where answer is not nil
	asked   uint64      // a bit for each of the first 64 members that were there then
	answer  http.Header // nil: nothing is told of the other members, see unasked
	errs    *[]complaint
}

// complaint is one thing that is wrong with a request.
type complaint struct {
	Field   string `json:"field"`
	Message string `json:"message"`
}

// tellIn has err tell in the header of an answer of the members that no getter asked for.
func (o *fields) tellIn(answer http.Header) { o.answer, o.wanted = answer, make([]string, 0, 40) }

// all are the members themselves, as they were sent. This notes none of them as asked for.
func (o *fields) all() []rawjson.Member { return o.members }

// apart is an object of the same request under a path of its own.
func (o *fields) apart(path string, members ...rawjson.Member) *fields {
	return &fields{path: path, members: members, errs: o.errs}
}

// remove takes members out. What was asked for before is forgotten, since the members change places.
func (o *fields) remove(which func(rawjson.Member) bool) {
	o.asked = 0
	o.members = slices.DeleteFunc(o.members, which)
}

// add adds a member that the request does not have.
func (o *fields) add(m rawjson.Member) { o.members = append(o.members, m) }

// sent returns a member as it was sent, null included; nil when absent.
func (o *fields) sent(name string) json.RawMessage {
	if o.answer != nil {
		o.wanted = append(o.wanted, name)
	}
	for i := range o.members {
		if o.members[i].Name == name {
			o.asked |= 1 << i
			return o.members[i].Value
		}
	}
	return nil
}

// get returns a member; nil when it is absent or null.
func (o *fields) get(name string) json.RawMessage {
	v := o.sent(name)
	if rawjson.Kind(v) == 'n' {
		return nil
	}
	return v
}

func (o *fields) complain(name, format string, args ...any) {
	field := o.path + name
	*o.errs = append(*o.errs, complaint{field, field + " " + fmt.Sprintf(format, args...)})
}

// blame complains of something that is no member, such as a header.
func (o *fields) blame(field, message string) { *o.errs = append(*o.errs, complaint{field, message}) }

// errSoFar is what was wrong up to now, where more is asked for later.
func (o *fields) errSoFar() error { return invalid(*o.errs) }

// err is what was wrong with the object and everything below it, or nil. All members that
// mean something have been asked for by then.
func (o *fields) err() error {
	o.unasked()
	return invalid(*o.errs)
}

func invalid(list []complaint) error {
	if len(list) == 0 {
		return nil
	}
	e := mapping.Errorf(mapping.Invalid, mapping.CodeInvalid, "%s", sentence(list[0].Message))
	e.Detail = list
	return e
}

// sentence is words with its full stop, where it is no question.
func sentence(words string) string {
	if strings.HasSuffix(words, "?") {
		return words
	}
	return words + "."
}

// typed returns a member of one kind; what says how the kind is called.
func (o *fields) typed(name string, kind byte, what string) json.RawMessage {
	v := o.get(name)
	if v == nil || rawjson.Kind(v) == kind {
		return v
	}
	o.complain(name, "must be %s, not %s", what, kindName(v))
	return nil
}

func kindName(v json.RawMessage) string {
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

func (o *fields) object(name string) json.RawMessage { return o.typed(name, '{', "an object") }
func (o *fields) list(name string) json.RawMessage   { return o.typed(name, '[', "a list") }

// text returns a member that must be a text, see mapping.IsText; "" when absent.
func (o *fields) text(name string) string {
	return o.checked(name, unquote(o.typed(name, '"', "a string")))
}

// checked complains about what is no text.
func (o *fields) checked(name, s string) string {
	if !mapping.IsText(s) {
		*o.errs = append(*o.errs, noText(o.path+name))
	}
	return s
}

func unquote(v json.RawMessage) string {
	if rawjson.Kind(v) != '"' {
		return ""
	}
	return rawjson.Unquote(v)
}

// uuid returns a member that must be a UUID, in lower case.
func (o *fields) uuid(name string) string {
	s := strings.ToLower(o.text(name))
	if s != "" && !mapping.IsUUID(s) || o.get(name) != nil && rawjson.Kind(o.get(name)) == '"' && s == "" {
		o.complain(name, "must be a UUID")
		return ""
	}
	return s
}

// enum returns a member that must be one of the allowed strings; "" when absent.
func (o *fields) enum(name string, allowed ...string) string {
	v := o.typed(name, '"', "a string")
	if v == nil {
		return ""
	}
	s := unquote(v)
	if !slices.Contains(allowed, s) {
		o.complain(name, "must be one of %s", strings.Join(allowed, ", "))
		return ""
	}
	return s
}

// whole returns a member that must be a whole number from min to max; def when
// absent.
func (o *fields) whole(name string, def, min, max int) int {
	v := o.typed(name, '0', "a number")
	if v == nil {
		return def
	}
	n, ok := wholeNumber(string(v))
	if !ok || n < min || n > max {
		o.complain(name, "must be a whole number from %d to %d", min, max)
		return def
	}
	return n
}

// wholeNumber reads 3, and 3.0 as some languages write it.
func wholeNumber(s string) (int, bool) {
	if i := strings.IndexByte(s, '.'); i > 0 && strings.Trim(s[i+1:], "0") == "" {
		s = s[:i]
	}
	n, err := strconv.Atoi(s)
	return n, err == nil
}

// flag returns a member that must be true or false; def when absent.
func (o *fields) flag(name string, def bool) bool {
	switch v := o.get(name); rawjson.Kind(v) {
	case 0:
		return def
	case 't', 'f':
		return rawjson.Kind(v) == 't'
	default:
		o.complain(name, "must be true or false, not %s", kindName(v))
		return def
	}
}

// texts returns a member that must be a list of strings; nil when absent.
func (o *fields) texts(name string) []string {
	v := o.list(name)
	if v == nil {
		return nil
	}
	out := []string{}
	for i, e := range splitList(v) {
		if rawjson.Kind(e) != '"' {
			o.complain(name+"."+strconv.Itoa(i), "must be a string, not %s", kindName(e))
			return nil
		}
		out = append(out, o.checked(name+"."+strconv.Itoa(i), unquote(e)))
	}
	return out
}

// sub returns a member that must be an object, split; nil when absent.
func (o *fields) sub(name string) *fields { return o.within(name, o.object(name)) }

// within splits value, an object of this request, under the path of name.
func (o *fields) within(name string, value json.RawMessage) *fields {
	if value == nil {
		return nil
	}
	if rawjson.CountMembers(value) > mostMembers {
		o.complain(name, "has more than %d keys", mostMembers)
		return nil
	}
	members, err := rawjson.Members(value)
	if err != nil {
		return nil // cannot be: the whole body was checked
	}
	return &fields{path: o.path + name + ".", members: members, answer: o.answer, errs: o.errs}
}

// needed complains about a member that was not sent.
func (o *fields) needed(name string, v json.RawMessage) json.RawMessage {
	if o.get(name) == nil {
		o.complain(name, "is needed")
	}
	return v
}

// name is a text that must not be empty; "" when it is absent.
func (o *fields) name(name string) string {
	s := o.text(name)
	if s == "" && rawjson.Kind(o.get(name)) == '"' {
		o.complain(name, "must not be empty")
	}
	return s
}

// textOrTexts reads one string or a list of them; allowed nil allows all.
func (o *fields) textOrTexts(name string, allowed []string) []string {
	v := o.get(name)
	var list []string
	switch rawjson.Kind(v) {
	case 0:
		return nil
	case '"':
		list = []string{o.text(name)}
	case '[':
		list = o.texts(name)
	default:
		o.complain(name, "must be a string or a list of strings, not %s", kindName(v))
	}
	for _, s := range list {
		if allowed != nil && !slices.Contains(allowed, s) {
			o.complain(name, "names the unknown mode %q; there are %s", s, strings.Join(allowed, ", "))
		}
	}
	return list
}

// unlessEmpty is get, with an empty list or string for nothing.
func (o *fields) unlessEmpty(name string) json.RawMessage {
	v := o.get(name)
	if k := rawjson.Kind(v); (k == '[' || k == '"') && len(bytes.Trim(v, "[]\" \t\r\n")) == 0 {
		return nil
	}
	return v
}

// element splits one element of a list, which must be an object.
func (o *fields) element(list string, i int, raw json.RawMessage) *fields {
	name := list + "." + strconv.Itoa(i)
	if rawjson.Kind(raw) != '{' {
		o.complain(name, "must be an object, not %s", kindName(raw))
		return nil
	}
	return o.within(name, raw)
}

// textPointer is nil for a member that is absent.
func (o *fields) textPointer(name string, read func(string) string) *string {
	if o.get(name) == nil {
		return nil
	}
	s := read(name)
	return &s
}

// sortOf reads sort_by and sort_order.
func (o *fields) sortOf(keys ...string) (by string, asc bool) {
	return o.enum("sort_by", keys...), o.enum("sort_order", "asc", "desc") == "asc"
}

// minutesMost is 95 years: what has no end has no time to live.
const minutesMost = 50_000_000

func (o *fields) minutes(name string) *time.Duration {
	v := o.typed(name, '0', "a number of minutes")
	if v == nil {
		return nil
	}
	var n float64
	if err := json.Unmarshal(v, &n); err != nil || n <= 0 || n > minutesMost {
		o.complain(name, "must be a number of minutes above 0, and at most %d", minutesMost)
		return nil
	}
	d := max(time.Duration(n*float64(time.Minute)), time.Microsecond) // what the store counts in
	return &d
}

// noText is the complaint about what names something and is no mapping.IsText.
func noText(field string) complaint {
	return complaint{field, field + " must be UTF-8 without U+0000"}
}
