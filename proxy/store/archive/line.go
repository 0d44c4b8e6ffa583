package archive

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// lineMost limits a line, and thereby the memory of an import. The largest rows are states and items, which limits.body
// and limits.event keep far smaller.
const lineMost = 1 << 30

// lines reads lines and counts them.
type lines struct {
	in     *bufio.Reader
	line   []byte
	number int
}

// headerMost limits the first line, so that a file that is not an export is refused without reading all of it.
const headerMost = 4 << 10

// first returns the first line, or the start of it if it is too long to be a header.
func (l *lines) first() ([]byte, error) {
	begin, err := l.in.Peek(headerMost)
	if err == nil && bytes.IndexByte(begin, '\n') < 0 {
		return begin, nil
	}
	return l.next()
}

func newLines(r io.Reader) *lines { return &lines{in: bufio.NewReaderSize(r, 1<<16)} }

// next returns the next line, which is valid until the next call. It returns io.EOF after the last line.
func (l *lines) next() ([]byte, error) {
	l.number++
	l.line = l.line[:0]
	if cap(l.line) > kept {
		l.line = nil
	}
	for {
		piece, err := l.in.ReadSlice('\n')
		l.line = append(l.line, piece...)
		switch {
		case err == nil:
			return l.line, nil
		case errors.Is(err, io.EOF) && len(l.line) == 0:
			return nil, io.EOF
		case errors.Is(err, io.EOF):
			return l.line, nil // the last line, without a newline
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		case len(l.line) > lineMost:
			return nil, fmt.Errorf("the line is longer than %d bytes", lineMost)
		}
	}
}

type header struct{ format, schema int64 }

var errNoExport = errors.New(`this is no export of apbridge: the first line of one has a member "apbridge_export"`)

func headerOf(line []byte) (header, error) {
	if bytes.HasPrefix(line, []byte("SQLite format 3\x00")) {
		return header{}, errors.New("this is a SQLite database, not an export. To restore a backup, run: apbridge restore FILE")
	}
	var h struct {
		Format *int64 `json:"apbridge_export"`
		Schema int64  `json:"schema"`
	}
	if json.Unmarshal(line, &h) != nil || h.Format == nil {
		return header{}, errNoExport
	}
	return header{*h.Format, h.Schema}, nil
}

// rowOf parses a line into the name of a table and the members of its row.
func rowOf(line []byte) (name string, row map[string]json.RawMessage, err error) {
	var whole map[string]map[string]json.RawMessage
	if err := json.Unmarshal(line, &whole); err != nil {
		return "", nil, fmt.Errorf("it is not a row: %w", err)
	}
	if len(whole) != 1 {
		return "", nil, fmt.Errorf("it is not a row: it has %d members, but a row has one, named after its table", len(whole))
	}
	for name, row = range whole {
	}
	return name, row, nil
}
