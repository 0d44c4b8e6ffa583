package rawjson

import (
	"encoding/json"
	"strconv"
)

// Writer writes JSON by appending, and sees to the commas. Raw values are spliced in as
// they are: they were checked when they came in, and checking them again costs more than
// everything else here. The zero value is ready; not for concurrent use.
type Writer struct {
	Bytes []byte // what was written
	// Long takes a raw value of more than LongFrom bytes in place of Bytes. It must write
	// what Bytes holds first, but for its last byte. nil: all is gathered in Bytes.
	Long     func(v []byte)
	LongFrom int
}

// separate puts a comma where one belongs: not at the beginning, and not after an opening
// bracket or a colon.
func (w *Writer) separate() {
	if n := len(w.Bytes); n > 0 {
		switch w.Bytes[n-1] {
		case '{', '[', ':':
		default:
			w.Bytes = append(w.Bytes, ',')
		}
	}
}

// Open begins an object or an array with its bracket.
func (w *Writer) Open(bracket byte) *Writer {
	w.separate()
	w.Bytes = append(w.Bytes, bracket)
	return w
}

// Close ends an object or an array with its bracket.
func (w *Writer) Close(bracket byte) *Writer {
	w.Bytes = append(w.Bytes, bracket)
	return w
}

// Key begins a member whose name is known to need no escapes. Its value must follow.
func (w *Writer) Key(name string) *Writer {
	w.separate()
	w.Bytes = append(w.Bytes, '"')
	w.Bytes = append(w.Bytes, name...)
	w.Bytes = append(w.Bytes, '"', ':')
	return w
}

// Name begins a member with a name from outside. Its value must follow.
func (w *Writer) Name(name string) *Writer {
	w.separate()
	w.Bytes = append(AppendQuote(w.Bytes, name), ':')
	return w
}

// Spliced begins a member with a name that is JSON already. Its value must follow.
func (w *Writer) Spliced(name []byte) *Writer {
	w.separate()
	w.Bytes = append(append(w.Bytes, name...), ':')
	return w
}

// Text writes a string.
func (w *Writer) Text(s string) *Writer {
	w.separate()
	w.Bytes = AppendQuote(w.Bytes, s)
	return w
}

// Literal writes a value that is JSON already.
func (w *Writer) Literal(s string) *Writer {
	w.separate()
	w.Bytes = append(w.Bytes, s...)
	return w
}

// Raw writes a value that is JSON already, or absent in place of none.
func (w *Writer) Raw(v json.RawMessage, absent string) *Writer {
	if len(v) == 0 {
		return w.Literal(absent)
	}
	w.separate()
	if w.Long != nil && len(v) > w.LongFrom {
		w.Long(v)
	} else {
		w.Bytes = append(w.Bytes, v...)
	}
	return w
}

// Int writes a number.
func (w *Writer) Int(n int64) *Writer {
	w.separate()
	w.Bytes = strconv.AppendInt(w.Bytes, n, 10)
	return w
}

// Bool writes true or false.
func (w *Writer) Bool(v bool) *Writer { return w.Literal(strconv.FormatBool(v)) }

// Texts writes a list of strings.
func (w *Writer) Texts(list []string) *Writer {
	w.Open('[')
	for _, s := range list {
		w.Text(s)
	}
	return w.Close(']')
}

// Raws writes a list of values.
func (w *Writer) Raws(list []json.RawMessage) *Writer {
	w.Open('[')
	for _, v := range list {
		w.Raw(v, "null")
	}
	return w.Close(']')
}
