package redo

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
)

// Key stands for the key that the database gives to a row when the statement with
// this Makes is run.
type Key uint64

// Statement is one statement. Args are nil, int64, float64, bool, string, []byte
// or Key: another type is refused by Encoder.Encode.
type Statement struct {
	Text  string
	Args  []any
	Makes Key // what the key of the row that it inserts is called; 0: nobody asks for it
}

// ErrDamaged: a record is none that an Encoder has written.
var ErrDamaged = errors.New("redo: a record cannot be read")

// Kinds of arguments.
const (
	isNil = iota
	isInt
	isFloat
	isFalse
	isTrue
	isText
	isBytes
	isKey
)

// Encoder writes the records of one batch. A text is written out once in a batch
// and then called by its number, so a record that was encoded must be kept, or the
// batch ended. Not for concurrent use.
type Encoder struct{ texts map[string]int }

// Encode appends statements to b. After an error it is as if they had not been there.
func (e *Encoder) Encode(b []byte, list []Statement) ([]byte, error) {
	if e.texts == nil {
		e.texts = make(map[string]int)
	}
	known := len(e.texts)
	b = binary.AppendUvarint(b, uint64(len(list)))
	for i := range list {
		s := &list[i]
		if at, ok := e.texts[s.Text]; ok {
			b = binary.AppendUvarint(b, uint64(at))
		} else {
			b = appendText(append(b, 0), s.Text)
			e.texts[s.Text] = len(e.texts) + 1
		}
		b = binary.AppendUvarint(b, uint64(s.Makes))
		b = binary.AppendUvarint(b, uint64(len(s.Args)))
		for _, a := range s.Args {
			var err error
			if b, err = appendArg(b, a); err != nil {
				maps.DeleteFunc(e.texts, func(_ string, at int) bool { return at > known })
				return nil, err
			}
		}
	}
	return b, nil
}

func appendText[T string | []byte](b []byte, text T) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

func appendArg(b []byte, arg any) ([]byte, error) {
	switch a := arg.(type) {
	case nil:
		return append(b, isNil), nil
	case int64:
		return binary.AppendVarint(append(b, isInt), a), nil
	case float64:
		return binary.LittleEndian.AppendUint64(append(b, isFloat), math.Float64bits(a)), nil
	case bool:
		if a {
			return append(b, isTrue), nil
		}
		return append(b, isFalse), nil
	case string:
		return appendText(append(b, isText), a), nil
	case []byte:
		if a == nil {
			return append(b, isNil), nil
		}
		return appendText(append(b, isBytes), a), nil
	case Key:
		return binary.AppendUvarint(append(b, isKey), uint64(a)), nil
	}
	return nil, fmt.Errorf("redo: an argument is a %T", arg)
}

// Decoder reads the records of one batch in their order. Not for concurrent use.
type Decoder struct{ texts []string }

// Decode calls do with every statement of a record. Args and the bytes in them are
// only good until do returns. An error of do ends it and is returned as it is.
func (d *Decoder) Decode(record []byte, do func(Statement) error) error {
	r := reader{left: record}
	var s Statement
	for n := r.count(3); n > 0 && !r.bad; n-- {
		s.Text, s.Makes = d.text(&r), Key(r.number())
		s.Args = s.Args[:0]
		for args := r.count(1); args > 0 && !r.bad; args-- {
			s.Args = append(s.Args, r.arg())
		}
		if r.bad {
			break
		}
		if err := do(s); err != nil {
			return err
		}
	}
	if r.bad || len(r.left) > 0 {
		return ErrDamaged
	}
	return nil
}

func (d *Decoder) text(r *reader) string {
	at := r.number()
	switch {
	case at == 0:
		d.texts = append(d.texts, string(r.bytes()))
		return d.texts[len(d.texts)-1]
	case at <= uint64(len(d.texts)):
		return d.texts[at-1]
	}
	r.bad = true
	return ""
}

// reader takes a record apart. Once something was bad, it gives zeros.
type reader struct {
	left []byte
	bad  bool
}

func (r *reader) number() uint64 {
	n, size := binary.Uvarint(r.left)
	if size <= 0 {
		r.bad = true
		return 0
	}
	r.left = r.left[size:]
	return n
}

// count is the number of things that follow, each of least bytes or more.
func (r *reader) count(least int) int {
	n := r.number()
	if n > uint64(len(r.left)/least) {
		r.bad = true
		return 0
	}
	return int(n)
}

func (r *reader) bytes() []byte { return r.take(r.count(1)) }

func (r *reader) take(n int) []byte {
	if n > len(r.left) {
		r.bad = true
	}
	if r.bad {
		return nil
	}
	taken := r.left[:n:n]
	r.left = r.left[n:]
	return taken
}

func (r *reader) arg() any {
	kind := r.take(1)
	if r.bad {
		return nil
	}
	switch kind[0] {
	case isNil:
		return nil
	case isInt:
		n, size := binary.Varint(r.left)
		if size > 0 {
			r.left = r.left[size:]
			return n
		}
	case isFloat:
		if bits := r.take(8); !r.bad {
			return math.Float64frombits(binary.LittleEndian.Uint64(bits))
		}
	case isFalse, isTrue:
		return kind[0] == isTrue
	case isText:
		return string(r.bytes())
	case isBytes:
		return r.bytes()
	case isKey:
		return Key(r.number())
	}
	r.bad = true
	return nil
}
