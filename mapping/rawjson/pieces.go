package rawjson

import (
	"encoding/json"
	"io"
	"unicode/utf8"
)

// Pieces is a JSON text that is not joined: its long values stay where they are, so that sending it takes no memory of
// its own size. The zero value is empty. Its values must not change while it is in use; reading it is safe for
// concurrent use.
type Pieces struct {
	list []piece
	size int64
}

// piece is bytes that are part of the text, or a string that is to be quoted.
type piece struct {
	raw    []byte
	text   string
	quoted bool
}

// Raw adds bytes as they are.
func (p *Pieces) Raw(b []byte) *Pieces {
	p.list, p.size = append(p.list, piece{raw: b}), p.size+int64(len(b))
	return p
}

// Literal adds text as it is.
func (p *Pieces) Literal(s string) *Pieces { return p.Raw([]byte(s)) }

// Text adds s as a JSON string, which is quoted while it is read.
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

// Pieces adds what another one holds.
func (p *Pieces) Pieces(of Pieces) *Pieces {
	p.list, p.size = append(p.list, of.list...), p.size+of.size
	return p
}

// Len returns the length of the text in bytes.
func (p *Pieces) Len() int64 { return p.size }

// Join returns the text in one piece.
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

// Reader reads the text from its beginning. Readers are independent of each other.
func (p *Pieces) Reader() io.Reader { return &pieceReader{rest: p.list} }

// pieceReader reads pieces one after the other.
type pieceReader struct {
	rest  []piece
	begun bool   // the string of the first piece
	text  string // what of it is still to be quoted
	ready []byte // what can be read at once
	room  []byte // that quoted text stands in
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

// fill makes more ready; false at the end.
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

// quotedAtOnce is how much of a text is quoted at a time, in bytes.
const quotedAtOnce = 4 << 10

// quoteSome appends the beginning of s as it stands between the quotes of a JSON string, and returns the rest of s.
func quoteSome(dst []byte, s string) (quoted []byte, rest string) {
	n := wholeRunes(s, quotedAtOnce)
	from := len(dst)
	dst = appendQuote(dst, s[:n])
	inner := dst[from+1 : len(dst)-1]
	return append(dst[:from], inner...), s[n:]
}

// wholeRunes is how many of the first most bytes of s end before a rune begins, so that no rune is cut. Where more
// bytes continue a rune than a rune has, none of them is part of one, and the cut may stand among them.
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
