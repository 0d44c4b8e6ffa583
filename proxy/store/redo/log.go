// Package redo is a log of statements that are to be run on a database a moment
// later: what stands in it outlives the process, and writing it down takes a
// fiftieth of a transaction.
//
// The log is a file of two areas of fixed size. A batch of records fills one of them while
// the batch before it, in the other one, is run on the database. Batches are
// numbered, and the database notes the number of the newest one that was run, in the
// same transaction: so each is run once, whenever the process dies.
//
// Nothing is flushed to the disk: a record survives the process, as a commit does with
// SQLite's synchronous NORMAL, and not the machine.
package redo

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io/fs"
	"os"
	"slices"
)

// AreaSize is how many bytes the records of one batch may take, with headSize for each.
const AreaSize = 512 << 10

// headSize is what stands before each record: its length, the number of its batch
// and a checksum over both, its place and itself, four bytes each, little endian. The
// checksum goes on from that of the record before it in the area. So what a client has
// sent as a part of a longer, older record cannot pass for the next one: that would
// take a checksum which nobody outside knows.
const headSize = 12

// ErrFull: the record does not fit into what is left of the area.
var ErrFull = errors.New("redo: the area is full")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Batch is what was found of a batch: its whole records in their order.
type Batch struct {
	Number  uint32
	Records [][]byte
}

// Newer tells whether batch a comes after batch b. Numbers start anew after the
// largest one.
func Newer(a, b uint32) bool { return int32(a-b) > 0 }

// Read finds what an earlier process has left behind at path, the oldest batch first.
// There is nothing where there is no file. What was being written when that
// process died is left out, and so is everything behind a damaged record.
func Read(path string) ([]Batch, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var found []Batch
	for at := 0; at < 2*AreaSize && at < len(text); at += AreaSize {
		if b := readArea(text[at:min(at+AreaSize, len(text))], at); len(b.Records) > 0 {
			found = append(found, b)
		}
	}
	slices.SortFunc(found, func(a, b Batch) int { return int(int32(a.Number - b.Number)) })
	return found, nil
}

func readArea(area []byte, at int) (b Batch) {
	var last uint32
	for len(area) >= headSize {
		size, number := int(binary.LittleEndian.Uint32(area)), binary.LittleEndian.Uint32(area[4:])
		if size < 1 || size > len(area)-headSize || len(b.Records) > 0 && number != b.Number {
			return b
		}
		record := area[headSize : headSize+size]
		last = sum(last, number, at, record)
		if binary.LittleEndian.Uint32(area[8:]) != last {
			return b
		}
		b.Number, b.Records = number, append(b.Records, record)
		area, at = area[headSize+size:], at+headSize+size
	}
	return b
}

// sum is the checksum of a record. last is that of the one before it, 0 for the first one
// of an area.
func sum(last, number uint32, at int, record []byte) uint32 {
	var head [12]byte
	binary.LittleEndian.PutUint32(head[:], uint32(len(record)))
	binary.LittleEndian.PutUint32(head[4:], number)
	binary.LittleEndian.PutUint32(head[8:], uint32(at))
	return crc32.Update(crc32.Update(last, castagnoli, head[:]), castagnoli, record)
}

// Log is the file that batches are written to. Not for concurrent use.
type Log struct {
	file   *os.File
	path   string
	info   os.FileInfo
	number uint32 // of the batch that is being filled
	start  int    // of its area
	at     int    // where its next record goes
	last   uint32 // the checksum of the record before that
	buffer []byte
}

// Open opens the log at path, which is made if it is not there. What stands in it must
// have been read and run before.
func Open(path string) (*Log, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return &Log{file: f, path: path, info: info}, nil
}

// Begin lets the next records be those of a batch. That of number-2 must have been
// run: this one takes its place. It is an error when the file is not at its path any
// more, where somebody would find it: nothing is to be written to it then.
func (l *Log) Begin(number uint32) error {
	l.number, l.start = number, int(number%2)*AreaSize
	l.at, l.last = l.start, 0
	return l.present()
}

// present is an error when the file is not at its path.
func (l *Log) present() error {
	info, err := os.Stat(l.path)
	if err == nil && !os.SameFile(info, l.info) {
		err = &fs.PathError{Op: "find", Path: l.path, Err: fs.ErrNotExist}
	}
	return err
}

// Append adds a record, which must not be empty, to the batch. It outlives the process from
// then on. After an error, ErrFull included, it is not there, and the next one takes its
// place.
func (l *Log) Append(record []byte) error {
	if l.at+headSize+len(record) > l.start+AreaSize {
		return ErrFull
	}
	last := sum(l.last, l.number, l.at, record)
	b := binary.LittleEndian.AppendUint32(l.buffer[:0], uint32(len(record)))
	b = binary.LittleEndian.AppendUint32(b, l.number)
	b = binary.LittleEndian.AppendUint32(b, last)
	l.buffer = append(b, record...)
	if _, err := l.file.WriteAt(l.buffer, int64(l.at)); err != nil {
		return err
	}
	l.at, l.last = l.at+len(l.buffer), last
	return nil
}

// Close closes the file and leaves it there.
func (l *Log) Close() error { return l.file.Close() }

// Remove closes and deletes the file: everything in it was run. Another one that is
// in its place by now is somebody else's, and stays: that is an error.
func (l *Log) Remove() error {
	err := errors.Join(l.present(), l.file.Close())
	if err != nil {
		return err
	}
	return os.Remove(l.path)
}
