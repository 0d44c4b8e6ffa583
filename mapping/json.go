package mapping

import "encoding/json"

// ValidJSON tells whether b is one JSON value (RFC 8259), nested less than
// 10,000 deep. It allocates nothing.
func ValidJSON(b []byte) bool { return validJSON(b) }

// EachMember calls visit for every member of an object in the order of the
// text, names that stand there twice included; the values are parts of b. An
// error says that b is not one object; visit may have been called by then.
func EachMember(b json.RawMessage, visit func(name string, value json.RawMessage)) error {
	return eachMember(b, func(m member) { visit(m.key, m.val) })
}
