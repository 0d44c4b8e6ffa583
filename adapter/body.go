package adapter

import (
	"errors"
	"io"
)

// firstPiece is what a body gets memory for before any of it has come.
const firstPiece = 64 << 10

// ReadBody reads a body to its end. announced is its length as its sender tells it,
// negative for an unknown one. Memory is taken for what has come: one who announces much
// and sends nothing costs nothing. The caller bounds the length.
func ReadBody(r io.Reader, announced int64) ([]byte, error) {
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
		return min(4*size, announced+1)
	}
	return 2 * size // more has come than was announced
}
