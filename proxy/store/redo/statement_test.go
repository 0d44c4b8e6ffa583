package redo_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/proxy/store/redo"
	"github.com/google/go-cmp/cmp"
)

// sameBits compares floats as a record keeps them: NaN is NaN, and 0 is not -0.
var sameBits = cmp.Comparer(func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) })

// encoded is the records of a batch.
func encoded(t testing.TB, list ...[]redo.Statement) (records [][]byte) {
	t.Helper()
	var e redo.Encoder
	for _, statements := range list {
		r, err := e.Encode(nil, statements)
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, r)
	}
	return records
}

// decode is the statements of a record, copied out of it.
func decode(d *redo.Decoder, record []byte) (list []redo.Statement, err error) {
	err = d.Decode(record, func(s redo.Statement) error {
		args := s.Args
		s.Args = nil
		for _, a := range args {
			if b, ok := a.([]byte); ok {
				a = bytes.Clone(b)
			}
			s.Args = append(s.Args, a)
		}
		list = append(list, s)
		return nil
	})
	return list, err
}

func TestArgumentsComeBack(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ arg, want any }{
		"nil":            {nil, nil},
		"nil bytes":      {[]byte(nil), nil},
		"empty bytes":    {[]byte{}, []byte{}},
		"bytes":          {[]byte("a\x00\xff"), []byte("a\x00\xff")},
		"0":              {int64(0), int64(0)},
		"-1":             {int64(-1), int64(-1)},
		"least":          {int64(math.MinInt64), int64(math.MinInt64)},
		"largest":        {int64(math.MaxInt64), int64(math.MaxInt64)},
		"float":          {1.5, 1.5},
		"-0":             {math.Copysign(0, -1), math.Copysign(0, -1)},
		"NaN":            {math.NaN(), math.NaN()},
		"another NaN":    {math.Float64frombits(0xfff8000000000001), math.Float64frombits(0xfff8000000000001)},
		"Inf":            {math.Inf(1), math.Inf(1)},
		"-Inf":           {math.Inf(-1), math.Inf(-1)},
		"smallest float": {math.SmallestNonzeroFloat64, math.SmallestNonzeroFloat64},
		"true":           {true, true},
		"false":          {false, false},
		"empty text":     {"", ""},
		"text":           {"a\x00b\xff\xc3é", "a\x00b\xff\xc3é"},
		"long text":      {strings.Repeat("x", 100_000), strings.Repeat("x", 100_000)},
		"no key":         {redo.Key(0), redo.Key(0)},
		"key":            {redo.Key(300), redo.Key(300)},
		"largest key":    {redo.Key(math.MaxUint64), redo.Key(math.MaxUint64)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			list := []redo.Statement{{Text: "s", Args: []any{tt.arg}}, {Text: "s", Args: []any{int64(7), tt.arg, "end"}, Makes: 9}}
			want := []redo.Statement{{Text: "s", Args: []any{tt.want}}, {Text: "s", Args: []any{int64(7), tt.want, "end"}, Makes: 9}}
			got, err := decode(new(redo.Decoder), encoded(t, list)[0])
			if d := cmp.Diff(want, got, sameBits); err != nil || d != "" {
				t.Errorf("error %v, statements (-want +got):\n%s", err, d)
			}
		})
	}
}

// shared is records that have texts in common, within them and between them.
var shared = [][]redo.Statement{
	{{Text: "a", Args: []any{int64(1)}}, {Text: "b", Makes: math.MaxUint64}, {Text: "a", Args: []any{"x", nil, true}}},
	{},
	{{Text: "b", Args: []any{redo.Key(1)}}, {Text: ""}, {Text: "c\x00\xff", Args: []any{1.5}, Makes: 2}},
	{{Text: ""}, {Text: "c\x00\xff", Args: []any{[]byte("y")}}, {Text: "a"}, {Text: "d"}},
}

func TestRecordsShareTexts(t *testing.T) {
	t.Parallel()
	var d redo.Decoder
	for i, record := range encoded(t, shared...) {
		got, err := decode(&d, record)
		if diff := cmp.Diff(shared[i], append([]redo.Statement{}, got...)); err != nil || diff != "" {
			t.Errorf("record %d: error %v, statements (-want +got):\n%s", i, err, diff)
		}
	}
}

func TestATextIsWrittenOnce(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1000)
	records := encoded(t, []redo.Statement{{Text: long}, {Text: long}}, []redo.Statement{{Text: long}})
	if first, second := len(records[0]), len(records[1]); first > len(long)+10 || second > 10 {
		t.Errorf("%d and %d bytes for a text of %d", first, second, len(long))
	}
}

func TestEncodeAppends(t *testing.T) {
	t.Parallel()
	var e redo.Encoder
	got, err := e.Encode([]byte("before"), shared[0])
	if want := append([]byte("before"), encoded(t, shared[0])[0]...); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
}

func TestAnUnknownTypeIsRefused(t *testing.T) {
	t.Parallel()
	for _, arg := range []any{1, uint64(1), int32(1), float32(1), struct{}{}, new(int64), []string{}, 'x', errors.ErrUnsupported} {
		var e redo.Encoder
		b, err := e.Encode(nil, []redo.Statement{{Text: "s", Args: []any{int64(1), arg}}})
		if err == nil || b != nil {
			t.Errorf("%T: encoded as %q, %v", arg, b, err)
		}
	}
}

// Texts that stand in no record must not be called by their numbers, nor be counted:
// another statement would be run.
func TestARefusedRecordLeavesNoTexts(t *testing.T) {
	t.Parallel()
	var e redo.Encoder
	var d redo.Decoder
	for _, list := range [][]redo.Statement{
		{{Text: "a"}},
		{{Text: "a"}, {Text: "b"}, {Text: "c", Args: []any{1}}},
		{{Text: "d"}, {Text: "b"}, {Text: "a"}},
		{{Text: "b", Args: []any{1}}},
		{{Text: "c"}, {Text: "b"}, {Text: "d"}},
	} {
		record, err := e.Encode(nil, list)
		if err != nil {
			continue
		}
		got, err := decode(&d, record)
		if diff := cmp.Diff(list, got); err != nil || diff != "" {
			t.Errorf("error %v, statements (-want +got):\n%s", err, diff)
		}
	}
}

func TestAnErrorEndsDecoding(t *testing.T) {
	t.Parallel()
	own, calls := errors.New("own"), 0
	err := new(redo.Decoder).Decode(encoded(t, shared[0])[0], func(redo.Statement) error {
		if calls++; calls == 2 {
			return own
		}
		return nil
	})
	if err != own || calls != 2 { //nolint:errorlint // it is returned as it is
		t.Errorf("%v after %d calls", err, calls)
	}
}

func TestARecordIsCutAnywhere(t *testing.T) {
	t.Parallel()
	list := []redo.Statement{{Text: "text", Args: []any{nil, int64(-300), 1.5, true, false, "x", "", []byte("yz"), []byte{}, redo.Key(300)}, Makes: 300}, {Text: "text"}}
	record := encoded(t, list)[0]
	for size := range record {
		if _, err := decode(new(redo.Decoder), record[:size:size]); !errors.Is(err, redo.ErrDamaged) {
			t.Errorf("%d of %d bytes: %v", size, len(record), err)
		}
	}
	if _, err := decode(new(redo.Decoder), append(record, 0)); !errors.Is(err, redo.ErrDamaged) {
		t.Errorf("a byte too many: %v", err)
	}
}

// Not parallel: what others allocate would be counted.
func TestADamagedRecord(t *testing.T) {
	const kInt, kFloat, kText, kBytes, kKey = 1, 2, 5, 6, 7
	most := string(binary.AppendUvarint(nil, math.MaxUint64))
	large := string(binary.AppendUvarint(nil, 1<<31))
	tooLong := strings.Repeat("\xff", 10) + "\x01"
	arg := func(a ...byte) string { return "\x01\x00\x01s\x00\x01" + string(a) }
	for name, record := range map[string]string{
		"no bytes":                   "",
		"count without end":          "\x80",
		"count too long":             tooLong,
		"most statements":            most + "\x00\x01s\x00\x00",
		"many statements":            large + strings.Repeat("\x01\x00\x00", 100),
		"more statements than fit":   "\x02\x00\x01s\x00\x00",
		"unknown text":               "\x01\x01\x00\x00",
		"text of the largest number": "\x01" + most + "\x00\x00",
		"longest text":               "\x01\x00" + most + "s\x00\x00",
		"long text":                  "\x01\x00" + large + "s\x00\x00",
		"key too long":               "\x01\x00\x01s" + tooLong + "\x00",
		"most arguments":             "\x01\x00\x01s\x00" + most + "\x00",
		"many arguments":             "\x01\x00\x01s\x00" + large + "\x00",
		"no such kind":               arg(8),
		"last kind":                  arg(0xff),
		"int too long":               arg(kInt) + tooLong,
		"int without end":            arg(kInt, 0x80),
		"half a float":               arg(kFloat, 1, 2, 3, 4),
		"longest string":             arg(kText) + most + "x",
		"long string":                arg(kText) + large + "x",
		"longest bytes":              arg(kBytes) + most + "x",
		"long bytes":                 arg(kBytes) + large + "x",
		"key argument too long":      arg(kKey) + tooLong,
		"something behind":           "\x00\x00",
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			list, err := decode(new(redo.Decoder), []byte(record))
			runtime.ReadMemStats(&after)
			if !errors.Is(err, redo.ErrDamaged) || len(list) > 0 {
				t.Errorf("%v, %v", list, err)
			}
			if took := after.TotalAlloc - before.TotalAlloc; took > 64<<10 {
				t.Errorf("%d bytes for a record of %d", took, len(record))
			}
		})
	}
}

// decodes reads records of one batch; false if one of them is damaged.
func decodes(t *testing.T, records [][]byte) (lists [][]redo.Statement, ok bool) {
	var d redo.Decoder
	ok = true
	for _, r := range records {
		list, err := decode(&d, r)
		if err != nil && err != redo.ErrDamaged { //nolint:errorlint // nothing else may come
			t.Fatal(err)
		}
		lists, ok = append(lists, list), ok && err == nil
	}
	return lists, ok
}

func FuzzDecode(f *testing.F) {
	records := encoded(f, shared...)
	f.Add(records[0], records[2])
	f.Add(records[1], records[1])
	f.Add(encoded(f, []redo.Statement{{Text: "s", Args: []any{nil, int64(-1), math.NaN(), true, false, "x", []byte("y"), []byte{}, redo.Key(3)}}})[0], []byte{1, 1, 0, 0})
	f.Add([]byte{}, []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	f.Fuzz(func(t *testing.T, first, second []byte) {
		want, ok := decodes(t, [][]byte{first, second})
		if !ok {
			return
		}
		got, ok := decodes(t, encoded(t, want...))
		if d := cmp.Diff(want, got, sameBits); !ok || d != "" {
			t.Errorf("read: %t, statements (-first +second):\n%s", ok, d)
		}
	})
}
