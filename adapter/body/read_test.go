package body

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestReadBody(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 1, 64<<10 - 1, 64 << 10, 64<<10 + 1, 1 << 20} {
		sent := bytes.Repeat([]byte("x"), size)
		for _, announced := range []int{-1, 0, size / 2, size, 2 * size} {
			for name, r := range map[string]io.Reader{"at once": bytes.NewReader(sent), "in halves": iotest.HalfReader(bytes.NewReader(sent)), "end with the data": iotest.DataErrReader(bytes.NewReader(sent))} {
				if got, err := readAll(r, int64(announced)); err != nil || !bytes.Equal(got, sent) {
					t.Errorf("%d bytes, %d announced, %s: %d, %v", size, announced, name, len(got), err)
				}
			}
		}
	}
	broken := io.MultiReader(strings.NewReader("x"), iotest.ErrReader(io.ErrUnexpectedEOF))
	if _, err := readAll(broken, 2); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a body that breaks off: %v", err)
	}
}

// Bytes that are announced but do not arrive use no memory.
func TestReadBodyAllocatesAsBytesArrive(t *testing.T) {
	t.Parallel()
	most := 0
	sees := readerFunc(func(b []byte) (int, error) {
		most = max(most, len(b))
		return 0, io.EOF
	})
	if _, err := readAll(sees, 1<<30); err != nil || most > 64<<10 {
		t.Errorf("a read of up to %d bytes, %v", most, err)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(b []byte) (int, error) { return f(b) }
