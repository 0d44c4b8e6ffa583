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

// CodeUnreadable is the error code of requests that need a body that cannot be decrypted.
const CodeUnreadable = "database_unreadable"

// keys holds the keys with which an operation seals and opens bodies.
type keys struct {
	ring  *seal.Ring
	blind []byte // of Blinded
}

// given wraps an operation to give it the keys.
func (k keys) given(do func(*Tx) error) func(*Tx) error {
	return func(t *Tx) error {
		t.keys = k
		return do(t)
	}
}

// Sealing reports whether newly written bodies are sealed.
func (k keys) Sealing() bool { return k.ring.Seals() }

// Keyed reports whether there may be sealed bodies in the database.
func (k keys) Keyed() bool { return len(k.ring.Keys()) > 0 }

// Opened returns the body that was passed to Sealed, from the raw value of the column. It may reuse the memory of raw.
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

// Sealed returns a body as the parameter for a column of SealedColumns, in the row with the given key. Without keys it
// returns the body unencrypted. nil means NULL.
func (t *Tx) Sealed(body []byte, column string, row ...any) any {
	if body == nil {
		return nil
	}
	if !t.Sealing() {
		return t.ring.Seal(body, nil) // an unencrypted body is not bound to a place
	}
	return t.ring.Seal(body, place(column, row))
}

// Blinded returns a word as stored in an index, which can search for it without reading it: a keyed digest. The key
// belongs to the database and outlives the keys of bodies.
func (t *Tx) Blinded(word string) string {
	h := hmac.New(sha256.New, t.blind)
	h.Write([]byte(word))
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:blindSize])
}

// blindSize is the length of an index digest in bytes, long enough to avoid collisions.
const blindSize = 12

// Unsealed returns the destination for a column written by Sealed; to is a *[]byte or a *Buffer. The row's key is the
// one passed to Sealed, or pointers to the destinations of other columns of the same row.
func Unsealed(to any, column string, row ...any) *Body {
	return &Body{to: to, column: column, row: row}
}

// Body is the destination of a sealed body.
type Body struct {
	Sealed bool // the body was sealed
	to     any
	column string
	row    []any
}

// scanned scans the columns of a row and opens its bodies.
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
		return fmt.Errorf("store: the body of %s cannot be scanned into a %T", b.column, b.to)
	}
	_, b.Sealed = seal.Sealed(*raw)
	if !bytes.HasPrefix(*raw, mark) {
		return nil
	}
	plain, err := keys{ring: ring}.Opened(*raw, b.column, b.row...)
	if err != nil {
		return err
	}
	*raw = (*raw)[:copy(*raw, plain)] // keeps the whole capacity of a Buffer
	return nil
}

var mark = seal.Mark()

// unopened returns an error for the operator, since callers cannot fix the cause.
func unopened(column string, err error) error {
	message := "A body of " + column + " in the bridge's database cannot be opened: " + err.Error() +
		". Another program has changed the database or assembled it from parts. Restore a backup, or ask the operator what was done to it."
	if errors.Is(err, seal.ErrNoKey) {
		message = "A body of " + column + " in the bridge's database is sealed under a key that is missing from encryption.keys (" + err.Error() +
			"). The bridge needs that key to read it."
	}
	return caused(err, mapping.Internal, CodeUnreadable, message)
}

// place returns the place to which a body is bound: its column and the key of its row.
func place(column string, row []any) []byte {
	p := append([]byte(column), 0)
	for _, part := range row {
		p = appendPart(p, part)
	}
	return p
}

// appendPart appends a key part in a form that is self-delimiting.
func appendPart(p []byte, part any) []byte {
	switch v := part.(type) {
	case nil: // no such row: the database refuses it
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
