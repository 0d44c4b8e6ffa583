package sqldb

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store/seal"
)

// CodeUnreadable is what a request fails with that needs a body that does not open.
const CodeUnreadable = "database_unreadable"

// keys are what an operation seals and opens bodies with.
type keys struct {
	ring  *seal.Ring
	blind []byte // of Blinded
}

// given gives them to an operation.
func (k keys) given(do func(*Tx) error) func(*Tx) error {
	return func(t *Tx) error {
		t.keys = k
		return do(t)
	}
}

// Sealing reports whether bodies that are written are sealed.
func (k keys) Sealing() bool { return k.ring.Seals() }

// Keyed reports whether there may be sealed bodies in the database.
func (k keys) Keyed() bool { return len(k.ring.Keys()) > 0 }

// Opened returns the body that Sealed was given, from what stands in the column, of whose memory it is made.
func (k keys) Opened(raw []byte, column string, row ...any) ([]byte, error) {
	if !bytes.HasPrefix(raw, mark) {
		return raw, nil
	}
	plain, err := k.ring.Open(raw, place(column, row))
	if err != nil {
		return nil, unopened(column, err)
	}
	return plain, nil
}

// Sealed returns a body as the parameter of a column that SealedColumns has, in the row with a key. Without keys it is
// the body itself. nil is NULL.
func (t *Tx) Sealed(body []byte, column string, row ...any) any {
	if body == nil {
		return nil
	}
	if !t.Sealing() {
		return t.ring.Seal(body, nil) // nothing is bound to a place
	}
	return t.ring.Seal(body, place(column, row))
}

// Blinded returns a word as an index has it that it is found by without being read: a keyed digest. The key is the
// database's own, and outlives those that bodies are sealed under.
func (t *Tx) Blinded(word string) string {
	h := hmac.New(sha256.New, t.blind)
	h.Write([]byte(word))
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:blindSize])
}

// blindSize is how much of a digest stands in an index, in bytes: enough for words not to meet.
const blindSize = 12

// Unsealed returns the place of a column that Sealed has written: a *[]byte or a *Buffer. The key of the row is that of
// Sealed, or pointers to where columns of the same row are read into.
func Unsealed(to any, column string, row ...any) *Body {
	return &Body{to: to, column: column, row: row}
}

// Body is where a body goes, once it was opened.
type Body struct {
	Sealed bool // it was
	to     any
	column string
	row    []any
}

// scanned reads the columns of a row, and opens its bodies.
func (t *Tx) scanned(scan func(...any) error, dest []any) error {
	var bodies []*Body
	for i, d := range dest {
		if b, ok := d.(*Body); ok {
			if bodies == nil {
				dest = append([]any(nil), dest...)
			}
			bodies, dest[i] = append(bodies, b), b.to
		}
	}
	if err := scan(dest...); err != nil {
		return err
	}
	for _, b := range bodies {
		if err := b.open(t.ring); err != nil {
			return err
		}
	}
	return nil
}

func (b *Body) open(ring *seal.Ring) error {
	var raw *[]byte
	switch to := b.to.(type) {
	case *[]byte:
		raw = to
	case *Buffer:
		raw = (*[]byte)(to)
	default:
		return fmt.Errorf("store: the body of %s does not go into a %T", b.column, b.to)
	}
	_, b.Sealed = seal.Sealed(*raw)
	if !bytes.HasPrefix(*raw, mark) {
		return nil
	}
	plain, err := keys{ring: ring}.Opened(*raw, b.column, b.row...)
	if err != nil {
		return err
	}
	*raw = (*raw)[:copy(*raw, plain)] // the whole room of a Buffer is used again
	return nil
}

var mark = seal.Mark()

// unopened is for an operator: callers cannot do anything about it.
func unopened(column string, err error) error {
	message := "A body of " + column + " in the bridge's database does not open: " + err.Error() +
		". Something else has changed the database, or put it together of parts. Restore a backup, or ask the operator what was done to it."
	if errors.Is(err, seal.ErrNoKey) {
		message = "A body of " + column + " in the bridge's database is sealed under a key that encryption.keys has not got (" + err.Error() +
			"). The bridge needs that key to read it."
	}
	return caused(err, mapping.Internal, CodeUnreadable, message)
}

// place is what a body is bound to: its column and the key of its row.
func place(column string, row []any) []byte {
	p := append([]byte(column), 0)
	for _, part := range row {
		p = appendPart(p, part)
	}
	return p
}

// appendPart writes each part so that it tells its end.
func appendPart(p []byte, part any) []byte {
	switch v := part.(type) {
	case nil: // no row has that: the database refuses it
		return append(p, 0)
	case int64:
		return binary.BigEndian.AppendUint64(append(p, '#'), uint64(v))
	case int:
		return appendPart(p, int64(v))
	case string:
		return append(binary.BigEndian.AppendUint32(append(p, '"'), uint32(len(v))), v...)
	case []byte:
		return appendPart(p, string(v))
	case *int64:
		return appendPart(p, *v)
	case *int:
		return appendPart(p, *v)
	case *string:
		return appendPart(p, *v)
	case *[]byte:
		return appendPart(p, *v)
	}
	panic(fmt.Sprintf("store: a row has no key of the type %T", part))
}
