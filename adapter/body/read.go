package body

import (
	"errors"
	"io"
	"net/http"

	"github.com/apbridge/apbridge/mapping"
)

// Read reads the body of a request to its end. limit is its greatest length in bytes; 0 is
// any length. An error is a *mapping.Error: of class TooLarge, of class Malformed when the
// request breaks off, or the reader's own.
func Read(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	if limit > 0 {
		if r.ContentLength > limit {
			return nil, tooLarge(limit)
		}
		r.Body = http.MaxBytesReader(w, r.Body, limit)
	}
	raw, err := read(r.Body, r.ContentLength)
	if err != nil {
		return nil, readError(err)
	}
	return raw, nil
}

// tooLarge is the complaint about a body over limits.body.
func tooLarge(limit int64) *mapping.Error {
	return mapping.Errorf(mapping.TooLarge, "body_too_large", "The request body is longer than %d bytes, the limit of limits.body.", limit)
}

func readError(err error) error {
	var known *mapping.Error
	var long *http.MaxBytesError
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &long):
		return tooLarge(long.Limit)
	}
	return &mapping.Error{Class: mapping.Malformed, Code: mapping.CodeInvalid, Message: "The request body could not be read to its end.", Err: err}
}

// Empty reports whether a request has no body. It reads one byte at most: a body of a
// type that is not taken may be as long as an upload.
func Empty(r *http.Request) bool {
	if r.Body == nil || r.Body == http.NoBody || r.ContentLength == 0 {
		return true
	}
	n, err := io.ReadFull(r.Body, make([]byte, 1))
	return n == 0 && errors.Is(err, io.EOF)
}

// firstPiece is the memory that a body takes before any of it has arrived.
const firstPiece = 64 << 10

// read takes memory for the bytes that have arrived: a client that announces much and sends
// nothing costs nothing. announced is negative for an unknown length.
func read(r io.Reader, announced int64) ([]byte, error) {
	if announced < 0 {
		return io.ReadAll(r)
	}
	// One byte more than announced lets the end be seen without growing.
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

// grown is the next size of a buffer that is full: a few steps lead to the announced one.
func grown(size, announced int64) int64 {
	if size <= announced {
		return min(8*size, announced+1)
	}
	return 2 * size // more has arrived than was announced
}
