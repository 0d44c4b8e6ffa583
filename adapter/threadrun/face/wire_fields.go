package face

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

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
	if !oneOf(s, allowed) {
		o.complain(name, "must be one of %s", strings.Join(allowed, ", "))
		return ""
	}
	return s
}

func oneOf(s string, allowed []string) bool {
	for _, a := range allowed {
		if s == a {
			return true
		}
	}
	return false
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
