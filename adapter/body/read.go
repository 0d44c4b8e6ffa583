package body

import (
	"bytes"
	"errors"
	"io"
	"net/http"

	"github.com/apbridge/apbridge/mapping"
)

// JSON reads the body of a request without parsing it. It returns nil if the body is empty or consists of white space.
// takes lists the media types accepted as JSON (see checkKind); they only matter if there is a body. limit is the
// maximum length in bytes; 0 means no limit. An error is a *mapping.Error of class Unsupported or TooLarge, of class
// Malformed if the request breaks off, or the *mapping.Error that the reader returned.
func JSON(w http.ResponseWriter, r *http.Request, limit int64, takes ...string) ([]byte, error) {
	raw, err := read(w, r, limit, takes...)
	if err != nil || len(bytes.TrimSpace(raw)) == 0 {
		return nil, err
	}
	return raw, nil
}

func read(w http.ResponseWriter, r *http.Request, limit int64, takes ...string) ([]byte, error) {
	if r.Body == nil || r.Body == http.NoBody || r.ContentLength == 0 {
		return nil, nil
	}
	if _, err := checkKind(r.Header, takes...); err != nil {
		if empty(r.Body) {
			return nil, nil
		}
		return nil, err
	}
	if limit > 0 {
		if r.ContentLength > limit {
			return nil, TooLarge(limit)
		}
		r.Body = Bounded(w, r, limit, func() *mapping.Error { return TooLarge(limit) })
	}
	raw, err := readAll(r.Body, r.ContentLength)
	if err != nil {
		return nil, Unread(err)
	}
	_ = r.Body.Close() // at its end, so that net/http need not drain it when the response begins
	return raw, nil
}

// empty reports whether a body of unknown length is empty. It reads at most one byte, because a body of an unsupported
// type may be as long as an upload.
func empty(of io.Reader) bool {
	n, err := io.ReadFull(of, make([]byte, 1))
	return n == 0 && errors.Is(err, io.EOF)
}

// firstPiece is the initial capacity before any bytes have arrived.
const firstPiece = 64 << 10

// readAll allocates memory only as bytes arrive, so that a client cannot reserve memory by announcing a long body that
// it does not send. announced is negative if the length is unknown.
func readAll(r io.Reader, announced int64) ([]byte, error) {
	if announced < 0 {
		return io.ReadAll(r)
	}
	// One byte more than announced, to reach the end without growing.
	buf := make([]byte, 0, min(announced+1, firstPiece))
	for {
		n, err := r.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if errors.Is(err, io.EOF) {
			return buf, nil
		}
		if err != nil {
			return buf, err
		}
		if len(buf) == cap(buf) {
			buf = append(make([]byte, 0, grown(int64(cap(buf)), announced)), buf...)
		}
	}
}

// grown returns the next size of a full buffer. It reaches the announced size in a few steps.
func grown(size, announced int64) int64 {
	if size <= announced {
		return min(8*size, announced+1)
	}
	return 2 * size // more has arrived than was announced
}
