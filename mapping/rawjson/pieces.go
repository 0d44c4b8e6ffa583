package rawjson

import (
	"encoding/json"
	"io"
	"unicode/utf8"
)

// Pieces is a JSON text in pieces. Its long values are not copied, so sending it does not need memory of its size. The
// zero value is empty. Its values must not change while it is in use. Reading it is safe for concurrent use.
type Pieces struct {
	list []piece
	size int64
}

// piece is a part of the text, or a string that is yet to be quoted.
type piece struct {
	raw    []byte
	text   string
	quoted bool
}

// Raw adds bytes verbatim.
func (p *Pieces) Raw(b []byte) *Pieces {
	p.list, p.size = append(p.list, piece{raw: b}), p.size+int64(len(b))
	return p
}

// Literal adds text verbatim.
func (p *Pieces) Literal(s string) *Pieces { return p.Raw([]byte(s)) }

// Text adds s as a JSON string, which is quoted during reading.
func (p *Pieces) Text(s string) *Pieces {
	p.list, p.size = append(p.list, piece{text: s, quoted: true}), p.size+2
	room := make([]byte, 0, 2*min(len(s), quotedAtOnce))
	for s != "" {
		var b []byte
		b, s = quoteSome(room, s)
		p.size += int64(len(b))
	}
	return p
}

// Pieces adds the text of another value.
func (p *Pieces) Pieces(of Pieces) *Pieces {
	p.list, p.size = append(p.list, of.list...), p.size+of.size
	return p
}

// Len returns the length of the text in bytes.
func (p *Pieces) Len() int64 { return p.size }

// Join returns the text as one slice.
func (p *Pieces) Join() json.RawMessage {
	b := make([]byte, 0, p.size)
	for i := range p.list {
		if one := &p.list[i]; one.quoted {
			b = appendQuote(b, one.text)
		} else {
			b = append(b, one.raw...)
		}
	}
	return b
}

// Reader returns a reader of the text. Readers are independent of each other.
func (p *Pieces) Reader() io.Reader { return &pieceReader{rest: p.list} }

// pieceReader reads pieces one after the other.
type pieceReader struct {
	rest  []piece
	begun bool   // the string of the first piece was begun
	text  string // the part that is yet to be quoted
	ready []byte // bytes that can be returned at once
	room  []byte // buffer for quoted text
}

func (r *pieceReader) Read(b []byte) (n int, err error) {
	for n < len(b) {
		if len(r.ready) == 0 && !r.fill() {
			return n, eofUnless(n)
		}
		moved := copy(b[n:], r.ready)
		n, r.ready = n+moved, r.ready[moved:]
	}
	return n, nil
}

func eofUnless(n int) error {
	if n > 0 {
		return nil
	}
	return io.EOF
}

// fill makes more bytes ready. It returns false at the end.
func (r *pieceReader) fill() bool {
	for len(r.ready) == 0 && len(r.rest) > 0 {
		switch one := &r.rest[0]; {
		case !one.quoted:
			r.ready, r.rest = one.raw, r.rest[1:]
		case !r.begun:
			r.begun, r.text, r.ready = true, one.text, []byte{'"'}
		case r.text == "":
			r.begun, r.ready, r.rest = false, []byte{'"'}, r.rest[1:]
		default:
			r.room, r.text = quoteSome(r.room[:0], r.text)
			r.ready = r.room
		}
	}
	return len(r.ready) > 0
}

// quotedAtOnce is the number of bytes of a text that are quoted at a time.
const quotedAtOnce = 4 << 10

// quoteSome appends the beginning of s in the form between the quotes of a JSON string, and returns the rest of s.
func quoteSome(dst []byte, s string) (quoted []byte, rest string) {
	n := wholeRunes(s, quotedAtOnce)
	from := len(dst)
	dst = appendQuote(dst, s[:n])
	inner := dst[from+1 : len(dst)-1]
	return append(dst[:from], inner...), s[n:]
}

// wholeRunes returns the length of a prefix of s of up to most bytes that ends at a rune boundary. A long sequence of
// continuation bytes is not part of any rune, so it may be cut anywhere.
func wholeRunes(s string, most int) int {
	if len(s) <= most {
		return len(s)
	}
	for back := range utf8.UTFMax {
		if utf8.RuneStart(s[most-back]) {
			return most - back
		}
	}
	return most
}
