package rawjson

import (
	"bytes"
	"encoding/json"
	"strconv"
	"time"
)

// Writer writes JSON by appending, and adds the commas. Raw values are copied verbatim. They were checked on arrival,
// and checking them again would cost more than everything else here. The zero value is ready to use. Not safe for
// concurrent use.
type Writer struct {
	Bytes []byte // the written text
	// Long is called with raw values of more than LongFrom bytes, which are not added to Bytes. It must first write
	// Bytes, except for the last byte. If it is nil, everything is added to Bytes.
	Long     func(v []byte)
	LongFrom int
	Err      error // the first error of Encode
}

// Separate writes a comma if one is needed: not at the beginning, and not after an opening bracket, a colon or a comma.
// The other methods call it.
func (w *Writer) Separate() {
	if n := len(w.Bytes); n > 0 {
		switch w.Bytes[n-1] {
		case '{', '[', ':', ',':
		default:
			w.Bytes = append(w.Bytes, ',')
		}
	}
}

// Open begins an object or an array with its bracket.
func (w *Writer) Open(bracket byte) *Writer {
	w.Separate()
	w.Bytes = append(w.Bytes, bracket)
	return w
}

// Close ends an object or an array with its bracket.
func (w *Writer) Close(bracket byte) *Writer {
	w.Bytes = append(w.Bytes, bracket)
	return w
}

// Key begins a member whose name needs no escapes. Its value must follow.
func (w *Writer) Key(name string) *Writer {
	w.Separate()
	w.Bytes = append(w.Bytes, '"')
	w.Bytes = append(w.Bytes, name...)
	w.Bytes = append(w.Bytes, '"', ':')
	return w
}

// Name begins a member with any name. Its value must follow.
func (w *Writer) Name(name string) *Writer {
	w.Separate()
	w.Bytes = append(appendQuote(w.Bytes, name), ':')
	return w
}

// Spliced begins a member whose name is already quoted. Its value must follow.
func (w *Writer) Spliced(name []byte) *Writer {
	w.Separate()
	w.Bytes = append(append(w.Bytes, name...), ':')
	return w
}

// Text writes a string.
func (w *Writer) Text(s string) *Writer {
	w.Separate()
	w.Bytes = appendQuote(w.Bytes, s)
	return w
}

// Literal writes a JSON value.
func (w *Writer) Literal(s string) *Writer {
	w.Separate()
	w.Bytes = append(w.Bytes, s...)
	return w
}

// Raw writes a JSON value, or absent if there is none.
func (w *Writer) Raw(v json.RawMessage, absent string) *Writer {
	if len(v) == 0 {
		return w.Literal(absent)
	}
	w.Separate()
	if w.Long != nil && len(v) > w.LongFrom {
		w.Long(v)
	} else {
		w.Bytes = append(w.Bytes, v...)
	}
	return w
}

// Int writes a number.
func (w *Writer) Int(n int64) *Writer {
	w.Separate()
	w.Bytes = strconv.AppendInt(w.Bytes, n, 10)
	return w
}

// Bool writes true or false.
func (w *Writer) Bool(v bool) *Writer { return w.Literal(strconv.FormatBool(v)) }

// Time writes a time in UTC with a layout, or null for the zero time.
func (w *Writer) Time(t time.Time, layout string) *Writer {
	if t.IsZero() {
		return w.Literal("null")
	}
	w.Separate()
	w.Bytes = append(w.Bytes, '"')
	w.Bytes = t.UTC().AppendFormat(w.Bytes, layout)
	w.Bytes = append(w.Bytes, '"')
	return w
}

// OrNull writes a string, or null for an empty one.
func (w *Writer) OrNull(s string) *Writer {
	if s == "" {
		return w.Literal("null")
	}
	return w.Text(s)
}

// Encode writes v as encoding/json does, without HTML escapes. If v cannot be encoded, it writes null and sets Err.
func (w *Writer) Encode(v any) *Writer {
	b, err := Encode(v)
	if err != nil && w.Err == nil {
		w.Err = err
	}
	return w.Raw(b, "null")
}

// Encode returns the JSON of v as encoding/json writes it, without HTML escapes.
func Encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// Texts writes an array of strings.
func (w *Writer) Texts(list []string) *Writer {
	w.Open('[')
	for _, s := range list {
		w.Text(s)
	}
	return w.Close(']')
}

// Array writes an array of values.
func (w *Writer) Array(list []json.RawMessage) *Writer {
	w.Open('[')
	for _, v := range list {
		w.Raw(v, "null")
	}
	return w.Close(']')
}

// Object writes an object of members.
func (w *Writer) Object(list []Member) *Writer {
	w.Open('{')
	for i := range list {
		w.Member(&list[i])
	}
	return w.Close('}')
}

// Member writes a member with its value.
func (w *Writer) Member(m *Member) *Writer {
	if m.Quoted != nil {
		w.Spliced(m.Quoted)
	} else {
		w.Name(m.Name)
	}
	return w.Raw(m.Value, "null")
}

// Array returns an array of values.
func Array(list ...json.RawMessage) json.RawMessage {
	w := Writer{Bytes: make([]byte, 0, ArraySize(list))}
	return w.Array(list).Bytes
}

// ArraySize returns an upper bound for the length of an array of the values.
func ArraySize(list []json.RawMessage) int {
	n := 2
	for _, e := range list {
		n += len(e) + 1
	}
	return n
}
