package store

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
)

// What a statement is given stays what its numbers say, and too few or too many
// arguments are refused.
func TestParametersKeepTheirNumbers(t *testing.T) {
	t.Parallel()
	s := opened(t)
	const text = `SELECT $2 || $1 || $2`
	for _, given := range []in{{"a", "b"}, {"a"}, {}, {"a", "b", "c"}} {
		var got string
		err := s.read1(t.Context(), func(x *tx) error { return x.get(text, given, out{&got}) })
		if ok := len(given) == 2; ok != (err == nil) || ok && got != "bab" {
			t.Errorf("%v: got %q, %v", given, got, err)
		}
	}
}

// What goes in comes out as what it was, also as a type of its own.
func TestValuesKeepTheirKind(t *testing.T) {
	t.Parallel()
	type (
		word string
		raw  []byte
	)
	s, three := opened(t), int64(3)
	long := strings.Repeat("x", heavyMost+1)
	for _, tt := range []struct{ arg, into, want any }{
		{"a", new(string), "a"}, {"", new(string), ""}, {long, new(string), long}, {word("w"), new(word), word("w")},
		{int64(-1), new(int64), int64(-1)}, {7, new(int), 7}, {time.Second, new(time.Duration), time.Second},
		{&three, new(int64), three}, {true, new(bool), true}, {1.5, new(float64), 1.5},
		{[]byte("b"), new([]byte), []byte("b")}, {[]byte{}, new([]byte), []byte{}}, {[]byte(nil), new([]byte), []byte(nil)},
		{[]byte(long), new(held), held(long)}, {raw("r"), new(raw), raw("r")}, {"text", new([]byte), []byte("text")},
		{nil, new(sql.NullString), sql.NullString{}}, {"s", new(sql.NullString), sql.NullString{String: "s", Valid: true}},
		{(*int64)(nil), new(sql.NullInt64), sql.NullInt64{}}, {5, new(sql.NullInt64), sql.NullInt64{Int64: 5, Valid: true}},
	} {
		err := s.read1(t.Context(), func(x *tx) error { return x.get(`SELECT $1`, in{tt.arg}, out{tt.into}) })
		if got := reflect.ValueOf(tt.into).Elem().Interface(); err != nil || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%T %.20v: got %T %.20v, %v", tt.arg, tt.arg, got, got, err)
		}
	}
}

func TestValuesThatFitNowhereAreRefused(t *testing.T) {
	t.Parallel()
	s := opened(t)
	for _, tt := range []struct {
		arg  any
		into out
	}{
		{nil, out{new(string)}}, {nil, out{new(int64)}}, {struct{}{}, out{new(string)}},
		{"a", out{new(chan int)}}, {"a", out{}}, {"a", out{new(string), new(string)}},
	} {
		err := s.read1(t.Context(), func(x *tx) error { return x.get(`SELECT $1`, in{tt.arg}, tt.into) })
		if err == nil {
			t.Errorf("%T went into %T", tt.arg, tt.into)
		}
	}
}

// One text may be read twice at once, each from its own start, and stays usable.
func TestStatementsAreReadBesideThemselves(t *testing.T) {
	t.Parallel()
	const text = `SELECT value FROM json_each('[1,2]') WHERE value >= $1`
	var got []int
	read := func(x *tx, inner func() error) error {
		return x.each(text, in{1}, func(scan func(...any) error) error {
			var n int
			err := scan(&n)
			got = append(got, n)
			return errors.Join(err, inner())
		})
	}
	err := opened(t).read1(t.Context(), func(x *tx) error {
		nothing := func() error { return nil }
		return errors.Join(read(x, func() error { return read(x, nothing) }), read(x, nothing))
	})
	if want := []int{1, 1, 2, 2, 1, 2, 1, 2}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v", got, err)
	}
}

func opened(t *testing.T) *Store {
	t.Helper()
	s, err := Open(context.Background(), filepath.Join(t.TempDir(), "p.db"), Options{}, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}
