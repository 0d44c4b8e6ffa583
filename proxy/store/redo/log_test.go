package redo_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/proxy/store/redo"
	"github.com/google/go-cmp/cmp"
)

// head is what a log adds to each record.
const head = 12

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// entry is a record as a log writes it. before is the checksum of the one before it
// in its area, 0 for the first.
func entry(before, number uint32, at int, record string) []byte {
	b := binary.LittleEndian.AppendUint32(nil, uint32(len(record)))
	b = binary.LittleEndian.AppendUint32(b, number)
	place := binary.LittleEndian.AppendUint32(bytes.Clone(b), uint32(at))
	sum := crc32.Update(crc32.Update(before, castagnoli, place), castagnoli, []byte(record))
	return append(binary.LittleEndian.AppendUint32(b, sum), record...)
}

// sumOf is the checksum of an entry.
func sumOf(entry []byte) uint32 { return binary.LittleEndian.Uint32(entry[8:]) }

func batch(number uint32, records ...string) redo.Batch {
	b := redo.Batch{Number: number}
	for _, r := range records {
		b.Records = append(b.Records, []byte(r))
	}
	return b
}

// whole is the batches that have records.
func whole(list ...redo.Batch) (found []redo.Batch) {
	for _, b := range list {
		if len(b.Records) > 0 {
			found = append(found, b)
		}
	}
	return found
}

func logPath(t testing.TB) string { return filepath.Join(t.TempDir(), "db-redo") }

// open is a new log, which is closed in the end: a file that is open cannot be
// deleted everywhere.
func open(t testing.TB, path string) *redo.Log {
	t.Helper()
	l, err := redo.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func fill(t testing.TB, l *redo.Log, list ...redo.Batch) {
	t.Helper()
	for _, b := range list {
		if err := l.Begin(b.Number); err != nil {
			t.Fatal(err)
		}
		for _, r := range b.Records {
			if err := l.Append(r); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// finds fails unless exactly these batches are read.
func finds(t testing.TB, path string, want ...redo.Batch) {
	t.Helper()
	got, err := redo.Read(path)
	if err != nil || !reflect.DeepEqual(want, got) { // cmp takes seconds for a full area
		t.Fatalf("error %v, batches (-want +got):\n%s", err, cmp.Diff(want, got))
	}
}

func put(t testing.TB, path string, text []byte) {
	t.Helper()
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestNothingIsFound(t *testing.T) {
	t.Parallel()
	path := logPath(t)
	finds(t, path)
	l := open(t, path)
	finds(t, path)
	fill(t, l, batch(7))
	finds(t, path)
	put(t, path, make([]byte, 3*redo.AreaSize))
	finds(t, path)
}

func TestWhatCannotBeOpened(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := redo.Read(dir); err == nil {
		t.Error("a directory was read")
	}
	if _, err := redo.Open(dir); err == nil {
		t.Error("a directory was opened")
	}
	if _, err := redo.Open(filepath.Join(dir, "nowhere", "db-redo")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("in no directory: %v", err)
	}
}

func TestNewerOverTheWrap(t *testing.T) {
	t.Parallel()
	const most = math.MaxUint32
	for _, tt := range []struct {
		a, b uint32
		want bool
	}{
		{1, 0, true}, {0, 1, false}, {0, 0, false}, {most, most, false},
		{0, most, true}, {most, 0, false}, {3, most - 3, true}, {most - 3, 3, false},
		{math.MaxInt32, 0, true}, {math.MaxInt32 + 7, 7, true}, {0, math.MaxInt32, false},
	} {
		if got := redo.Newer(tt.a, tt.b); got != tt.want {
			t.Errorf("Newer(%d, %d) = %t", tt.a, tt.b, got)
		}
	}
}

func TestBatchesAreFoundInTheirOrder(t *testing.T) {
	t.Parallel()
	const most = math.MaxUint32
	for name, list := range map[string][]redo.Batch{
		"one, first area":          {batch(2, "a", "bc", "\x00")},
		"one, second area":         {batch(1, "a")},
		"older in the first area":  {batch(2, "a", "bc"), batch(3, "d")},
		"older in the second area": {batch(3, "d"), batch(4, "a", "bc", "e")},
		"largest numbers":          {batch(most-1, "a"), batch(most, "b")},
		"over the wrap":            {batch(most, "a"), batch(0, "b")},
		"behind the wrap":          {batch(0, "a"), batch(1, "b")},
		"one left out over it":     {batch(most-2, "a", "b"), batch(0, "c")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := logPath(t)
			fill(t, open(t, path), list...)
			finds(t, path, list...)
		})
	}
}

// The remains of the batch before the last one begin where the new one ends, with
// records of the same lengths at a record, and with others in the midst of one.
func TestABatchTakesThePlaceOfTheOneBeforeTheLast(t *testing.T) {
	t.Parallel()
	old := batch(math.MaxUint32-1, "one", "two", "three", strings.Repeat("x", 1000), "five")
	other := batch(math.MaxUint32, "other")
	for name, young := range map[string]redo.Batch{
		"same lengths":   batch(0, "ONE", "TWO"),
		"other lengths":  batch(0, "O", "TW"),
		"longer records": batch(0, strings.Repeat("y", 500)),
		"as many":        batch(0, "ONE", "TWO", "THREE", strings.Repeat("X", 1000), "FIVE"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := logPath(t)
			l := open(t, path)
			fill(t, l, old, other, batch(young.Number))
			finds(t, path, old, other) // nothing has taken its place yet
			fill(t, l, young)
			finds(t, path, other, young)
		})
	}
}

// small is a log whose batches leave remains of older ones behind them, and the lengths
// of its records.
func small(t testing.TB, path string) []redo.Batch {
	list := []redo.Batch{batch(5, "a", "bcd", "efghijk"), batch(6, "lmno", "\x00\x00", "p")}
	fill(t, open(t, path), batch(3, "x", "xxx", "xxxxxxx", "older"), batch(4, "yyyy", "yy"), list[0], list[1])
	return list
}

// upTo is a batch without the records that do not end before the place in the file.
func upTo(b redo.Batch, place int) redo.Batch {
	at := int(b.Number%2) * redo.AreaSize
	for i, r := range b.Records {
		if at += head + len(r); at > place {
			return redo.Batch{Number: b.Number, Records: b.Records[:i]}
		}
	}
	return b
}

// places is where an area of a small log begins and a place behind its records.
var places = [][2]int{{redo.AreaSize, redo.AreaSize + 60}, {0, 60}}

func TestAFileIsCutAnywhere(t *testing.T) {
	t.Parallel()
	path := logPath(t)
	list := small(t, path)
	for _, p := range places {
		for size := p[1]; size >= p[0]; size-- {
			if err := os.Truncate(path, int64(size)); err != nil {
				t.Fatal(err)
			}
			finds(t, path, whole(upTo(list[0], size), upTo(list[1], size))...)
		}
	}
}

func TestAByteIsDamagedAnywhere(t *testing.T) {
	t.Parallel()
	path := logPath(t)
	list := small(t, path)
	for _, p := range places {
		want := []redo.Batch{list[0], list[1]}
		for at := p[0]; at < p[1]; at++ {
			for i, b := range list {
				if int(b.Number%2)*redo.AreaSize == p[0] {
					want[i] = upTo(b, at)
				}
			}
			for _, bits := range []byte{0x01, 0x80, 0xff} {
				damage(t, path, at, bits)
				finds(t, path, whole(want...)...)
				damage(t, path, at, bits)
			}
		}
	}
	finds(t, path, list...)
}

// damage turns some bits of a file around.
func damage(t testing.TB, path string, at int, bits byte) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b := make([]byte, 1)
	_, err = f.ReadAt(b, int64(at))
	if b[0] ^= bits; err == nil {
		_, err = f.WriteAt(b, int64(at))
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestWhatIsReadOfAnArea(t *testing.T) {
	t.Parallel()
	first := entry(0, 4, 0, "first")
	at := len(first)
	second := func(before, number uint32, place int) []byte {
		return append(bytes.Clone(first), entry(before, number, place, "second")...)
	}
	long := entry(0, 4, 0, "first")
	for i := range 4 {
		long[i] = 0xff // negative where an int has 32 bits
	}
	for name, tt := range map[string]struct {
		text []byte
		want []redo.Batch
	}{
		"as a log writes it":    {second(sumOf(first), 4, at), whole(batch(4, "first", "second"))},
		"another batch's":       {second(sumOf(first), 2, at), whole(batch(4, "first"))},
		"a younger batch's":     {second(sumOf(first), 6, at), whole(batch(4, "first"))},
		"from another place":    {second(sumOf(first), 4, at+1), whole(batch(4, "first"))},
		"behind another record": {second(1, 4, at), whole(batch(4, "first"))},
		"an empty one":          {append(bytes.Clone(first), entry(sumOf(first), 4, at, "")...), whole(batch(4, "first"))},
		"half a head":           {first[:head/2], nil},
		"a head alone":          {first[:head], nil},
		"the longest length":    {long, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := logPath(t)
			put(t, path, tt.text)
			finds(t, path, tt.want...)
		})
	}
}

// What stands in one area is nothing in the other one, where it would be run in
// another order.
func TestAnAreaIsNotReadInAnothersPlace(t *testing.T) {
	t.Parallel()
	path := logPath(t)
	list := []redo.Batch{batch(2, "a", "b")}
	fill(t, open(t, path), list...)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	put(t, path, append(append(text, make([]byte, redo.AreaSize-len(text))...), text...))
	finds(t, path, list...)
}

// A client that guesses where the records of the next batch but one end may send what
// looks like one of them.
func TestARecordInsideARecordIsNotRead(t *testing.T) {
	t.Parallel()
	path := logPath(t)
	young := batch(4, "young")
	ends := head + len("young")
	evil := strings.Repeat("x", ends-head) + string(entry(0, young.Number, ends, "evil"))
	l := open(t, path)
	fill(t, l, batch(2, evil), young)
	finds(t, path, young)
}

// A register of the checksum that is 0 stays so however many zeros follow: the length
// has to be in it, too. The record makes it 0 if the length is not.
func TestARecordDoesNotGrow(t *testing.T) {
	t.Parallel()
	path := logPath(t)
	place := binary.LittleEndian.AppendUint64(nil, 2) // batch 2, at 0
	record := binary.LittleEndian.AppendUint32([]byte("r"), ^crc32.Checksum(append(place, 'r'), castagnoli))
	fill(t, open(t, path), redo.Batch{Number: 2, Records: [][]byte{record}})
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text[0]++
	put(t, path, append(text, make([]byte, 100)...))
	finds(t, path)
}

func TestAnAreaIsFull(t *testing.T) {
	t.Parallel()
	for name, number := range map[string]uint32{"first area": 4, "second area": 5} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := logPath(t)
			l := open(t, path)
			before, next := batch(number-1, "before"), batch(number+1, "next")
			full := batch(number, strings.Repeat("x", redo.AreaSize-3*head-5), "last")
			fill(t, l, before, full)
			for _, size := range []int{2, 3, 1000, redo.AreaSize, 3 * redo.AreaSize} {
				if err := l.Append(make([]byte, size)); !errors.Is(err, redo.ErrFull) {
					t.Errorf("%d bytes too many: %v", size, err)
				}
			}
			finds(t, path, before, full)
			if err := l.Append([]byte("e")); err != nil {
				t.Errorf("the last byte: %v", err)
			}
			full.Records = append(full.Records, []byte("e"))
			finds(t, path, before, full)
			fill(t, l, next)
			finds(t, path, full, next)
		})
	}
}

func TestARecordThatFillsAnArea(t *testing.T) {
	t.Parallel()
	path := logPath(t)
	l := open(t, path)
	list := []redo.Batch{batch(1, strings.Repeat("a", redo.AreaSize-head)), batch(2, strings.Repeat("b", redo.AreaSize-head))}
	for _, b := range list {
		fill(t, l, batch(b.Number))
		if err := l.Append(append(b.Records[0], 'x')); !errors.Is(err, redo.ErrFull) {
			t.Errorf("one byte too many: %v", err)
		}
		fill(t, l, b)
	}
	finds(t, path, list...)
}

func TestOpenEmptiesTheFile(t *testing.T) {
	t.Parallel()
	path := logPath(t)
	fill(t, open(t, path), batch(1, "a"), batch(2, "b"))
	l := open(t, path)
	finds(t, path)
	if info, err := os.Stat(path); err != nil || info.Size() != 0 {
		t.Errorf("the file is %v, %v", info, err)
	}
	fill(t, l, batch(3, "c"))
	finds(t, path, batch(3, "c"))
}

func TestCloseLeavesTheFile(t *testing.T) {
	t.Parallel()
	path := logPath(t)
	l := open(t, path)
	fill(t, l, batch(1, "a"))
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := l.Append([]byte("b")); !errors.Is(err, os.ErrClosed) {
		t.Errorf("append to a closed log: %v", err)
	}
	finds(t, path, batch(1, "a"))
}

func TestRemoveDeletesTheFile(t *testing.T) {
	t.Parallel()
	path := logPath(t)
	l := open(t, path)
	fill(t, l, batch(1, "a"))
	if err := l.Remove(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file is there: %v", err)
	}
	if err := l.Close(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("the log was not closed: %v", err)
	}
}

// A log goes on where its file is, and nothing is done to another one in its place.
func TestTheFileIsNotAtItsPath(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("an open file stays where it is")
	}
	for name, do := range map[string]func(path string) error{
		"deleted": os.Remove,
		"moved":   func(path string) error { return os.Rename(path, path+"-moved") },
		"replaced": func(path string) error {
			return errors.Join(os.Rename(path, path+"-moved"), os.WriteFile(path, entry(0, 8, 0, "other"), 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := logPath(t)
			l := open(t, path)
			fill(t, l, batch(1, "a"))
			if err := do(path); err != nil {
				t.Fatal(err)
			}
			there, err := redo.Read(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := l.Begin(2); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("begin: %v", err)
			}
			if err := l.Remove(); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("remove: %v", err)
			}
			finds(t, path, there...)
			if err := l.Close(); !errors.Is(err, os.ErrClosed) {
				t.Errorf("the log was not closed: %v", err)
			}
		})
	}
}

func TestTheFileIsBackAtItsPath(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("an open file stays where it is")
	}
	path := logPath(t)
	l := open(t, path)
	fill(t, l, batch(1, "a"))
	if err := os.Rename(path, path+"-moved"); err != nil {
		t.Fatal(err)
	}
	if err := l.Begin(2); err == nil {
		t.Error("the file was missed by nobody")
	}
	if err := os.Rename(path+"-moved", path); err != nil {
		t.Fatal(err)
	}
	fill(t, l, batch(2, "b"))
	finds(t, path, batch(1, "a"), batch(2, "b"))
}

// within tells whether the records of a batch stand one behind another in one of the
// areas of a file, from its beginning.
func within(text []byte, b redo.Batch) bool {
	for at := 0; at <= redo.AreaSize && at < len(text); at += redo.AreaSize {
		left, ok := text[at:min(at+redo.AreaSize, len(text))], true
		for _, r := range b.Records {
			if ok = ok && len(r) > 0 && len(left) >= head+len(r) && bytes.Equal(left[head:head+len(r)], r); ok {
				left = left[head+len(r):]
			}
		}
		if ok {
			return true
		}
	}
	return false
}

func FuzzRead(f *testing.F) {
	first, second := entry(0, 4, 0, "first"), entry(0, 5, redo.AreaSize, "first")
	f.Add([]byte(nil), []byte(nil))
	f.Add(first, second)
	f.Add(append(bytes.Clone(first), entry(sumOf(first), 4, len(first), "second")...), []byte(nil))
	f.Add(first[:head], append(bytes.Clone(second), entry(sumOf(second), 5, redo.AreaSize+len(second), "second")...))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 4, 0, 0, 0, 0, 0, 0, 0, 1}, make([]byte, 2*head))
	f.Fuzz(func(t *testing.T, first, second []byte) {
		text := first
		if len(second) > 0 && len(text) < redo.AreaSize {
			text = append(append(make([]byte, 0, redo.AreaSize+len(second)), first...), make([]byte, redo.AreaSize-len(first))...)
		}
		text = append(text, second...)
		path := logPath(t)
		put(t, path, text)
		found, err := redo.Read(path)
		if err != nil || len(found) > 2 {
			t.Fatalf("%d batches, %v", len(found), err)
		}
		for _, b := range found {
			if len(b.Records) == 0 || !within(text, b) {
				t.Errorf("batch %d is not in the file: %q", b.Number, b.Records)
			}
		}
	})
}
