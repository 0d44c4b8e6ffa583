package sse

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// ErrTooLong is returned for an event or a line that exceeds the reader's limit.
var ErrTooLong = errors.New("stream event exceeds the size limit")

// Event is one event of a stream.
type Event struct {
	Name string // "" if the event has none; browsers use "message" then
	Data []byte // the data lines joined with LF; the caller may keep it
	ID   string // the last event id of the stream so far
}

// Reader parses an event stream. Not safe for concurrent use.
type Reader struct {
	r       *bufio.Reader
	max     int
	line    []byte
	started bool // the stream was checked for a byte order mark
	skipLF  bool // the last line ended with CR; an LF right after belongs to it

	name    string
	data    []byte
	hasData bool
	pending bool // fields were read since the last event
	size    int

	lastID string
}

// readBuffer is small because there may be thousands of streams. Longer lines are read in pieces.
const readBuffer = 2 << 10

// NewReader returns a Reader of r. max is the maximum size in bytes of all lines of one event; 0 means 16 MiB.
func NewReader(r io.Reader, max int) *Reader {
	if max <= 0 {
		max = 16 << 20
	}
	return &Reader{r: bufio.NewReaderSize(r, readBuffer), max: max}
}

// Next returns the next event. It skips comments and, as the standard requires, events without a data line. At the end
// of the stream it returns io.EOF, or io.ErrUnexpectedEOF if the stream ended within an event, which is not delivered.
// ErrTooLong and errors of the underlying reader are final.
func (r *Reader) Next() (Event, error) {
	for {
		line, err := r.readLine()
		if err != nil {
			return Event{}, r.endOf(err, line)
		}
		if len(line) > 0 {
			if err := r.field(line); err != nil {
				return Event{}, err
			}
			continue
		}
		if ev, ok := r.dispatch(); ok {
			return ev, nil
		}
	}
}

func (r *Reader) endOf(err error, rest []byte) error {
	if errors.Is(err, io.EOF) && (r.pending || len(rest) > 0) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func (r *Reader) dispatch() (Event, bool) {
	ev, ok := Event{Name: r.name, Data: r.data, ID: r.lastID}, r.hasData
	r.name, r.data, r.hasData, r.pending, r.size = "", nil, false, false, 0
	return ev, ok
}

// field handles one line that is not empty.
func (r *Reader) field(line []byte) error {
	if line[0] == ':' {
		return nil
	}
	if r.size += len(line) + 1; r.size > r.max {
		return ErrTooLong
	}
	name, value, _ := bytes.Cut(line, []byte{':'})
	value = bytes.TrimPrefix(value, []byte{' '})
	r.pending = true
	switch string(name) {
	case "event":
		r.name = string(value)
	case "data":
		r.addData(value)
	case "id":
		if bytes.IndexByte(value, 0) < 0 {
			r.lastID = string(value)
		}
	}
	return nil
}

func (r *Reader) addData(value []byte) {
	if r.hasData {
		r.data = append(r.data, '\n')
	} else {
		r.data = make([]byte, 0, len(value))
	}
	r.data = append(r.data, value...)
	r.hasData = true
}

// readLine returns the next line without its end, which is LF, CR or CRLF. The slice is valid until the next call. It
// never waits for the byte after a CR, which may arrive minutes later on a live stream. If it returns an error, the
// slice holds the part of the unfinished line that was read.
func (r *Reader) readLine() ([]byte, error) {
	r.line = r.line[:0]
	for {
		chunk, err := r.peek()
		if err != nil {
			return r.line, err
		}
		i := bytes.IndexAny(chunk, "\r\n")
		if i < 0 {
			i = len(chunk)
		}
		if len(r.line)+i > r.max {
			return nil, ErrTooLong
		}
		r.line = append(r.line, chunk[:i]...)
		if i == len(chunk) {
			r.discard(i)
			continue
		}
		r.skipLF = chunk[i] == '\r'
		r.discard(i + 1)
		return r.line, nil
	}
}

// peek returns the buffered bytes, at least one. It skips a byte order mark at the start of the stream and the LF of a
// CRLF.
func (r *Reader) peek() ([]byte, error) {
	if !r.started {
		r.started = true
		if bom, _ := r.r.Peek(3); string(bom) == "\xef\xbb\xbf" {
			r.discard(3)
		}
	}
	for {
		if _, err := r.r.Peek(1); err != nil {
			return nil, err
		}
		chunk, err := r.r.Peek(r.r.Buffered())
		if !r.skipLF || err != nil {
			return chunk, err
		}
		r.skipLF = false
		if chunk[0] != '\n' {
			return chunk, nil
		}
		r.discard(1)
	}
}

func (r *Reader) discard(n int) { _, _ = r.r.Discard(n) }
