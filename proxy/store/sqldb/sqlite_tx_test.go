package sqldb

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// Parameters are bound by number, and too few or too many arguments are refused.
func TestParametersKeepTheirNumbers(t *testing.T) {
	t.Parallel()
	s := fresh(t)
	const text = `SELECT $2 || $1 || $2`
	for _, given := range [][]any{{"a", "b"}, {"a"}, {}, {"a", "b", "c"}} {
		var got string
		err := s.ReadOne(t.Context(), func(x *Tx) error { return x.Get(text, given, []any{&got}) })
		if ok := len(given) == 2; ok != (err == nil) || ok && got != "bab" {
			t.Errorf("%v: got %q, %v", given, got, err)
		}
	}
}

// Values are returned with their type and content, also for named types.
func TestValuesKeepTheirKind(t *testing.T) {
	t.Parallel()
	type (
		word string
		raw  []byte
	)
	s, three := fresh(t), int64(3)
	long := strings.Repeat("x", 1<<16)
	for _, tt := range []struct{ arg, into, want any }{
		{"a", new(string), "a"}, {"", new(string), ""}, {long, new(string), long}, {word("w"), new(word), word("w")},
		{int64(-1), new(int64), int64(-1)}, {7, new(int), 7}, {time.Second, new(time.Duration), time.Second},
		{&three, new(int64), three}, {true, new(bool), true}, {1.5, new(float64), 1.5},
		{[]byte("b"), new([]byte), []byte("b")}, {[]byte{}, new([]byte), []byte{}}, {[]byte(nil), new([]byte), []byte(nil)},
		{[]byte(long), new(Buffer), Buffer(long)}, {raw("r"), new(raw), raw("r")}, {"text", new([]byte), []byte("text")},
		{nil, new([]byte), []byte(nil)}, {(*int64)(nil), new([]byte), []byte(nil)},
	} {
		err := s.ReadOne(t.Context(), func(x *Tx) error { return x.Get(`SELECT $1`, []any{tt.arg}, []any{tt.into}) })
		if got := reflect.ValueOf(tt.into).Elem().Interface(); err != nil || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%T %.20v: got %T %.20v, %v", tt.arg, tt.arg, got, got, err)
		}
	}
}

func TestUnsupportedValuesAreRefused(t *testing.T) {
	t.Parallel()
	s := fresh(t)
	for _, tt := range []struct {
		arg  any
		into []any
	}{
		{nil, []any{new(string)}}, {nil, []any{new(int64)}}, {struct{}{}, []any{new(string)}},
		{"a", []any{new(chan int)}}, {"a", []any{}}, {"a", []any{new(string), new(string)}},
	} {
		err := s.ReadOne(t.Context(), func(x *Tx) error { return x.Get(`SELECT $1`, []any{tt.arg}, tt.into) })
		if err == nil {
			t.Errorf("%T was scanned into %T", tt.arg, tt.into)
		}
	}
}

// A statement that was abandoned midway is read from its start the next time.
func TestStatementsAreReadFromTheirStart(t *testing.T) {
	t.Parallel()
	const text = `SELECT value FROM json_each('[1,2]') WHERE value >= $1`
	var got []int
	read := func(x *Tx, most int) error {
		return x.Until(text, []any{1}, func(scan func(...any) error) (bool, error) {
			var n int
			err := scan(&n)
			got = append(got, n)
			return n < most, err
		})
	}
	err := fresh(t).ReadOne(t.Context(), func(x *Tx) error { return errors.Join(read(x, 1), read(x, 2), read(x, 1)) })
	if want := []int{1, 1, 2, 1}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v", got, err)
	}
}

// endless is a read that continues until it is interrupted.
func endless(begun chan<- struct{}) func(*Tx) error {
	return func(x *Tx) error {
		close(begun)
		var n int64
		return x.Get(`WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT count(*) FROM c`, nil, []any{&n})
	}
}

// A read ends with its context, and its connection can be used again.
func TestReadEndsWithItsContext(t *testing.T) {
	t.Parallel()
	s := fresh(t)
	for _, read := range []func(context.Context, func(*Tx) error) error{s.Read, s.ReadOne} {
		for range readersMost + 1 {
			ctx, leave := context.WithCancel(t.Context())
			begun, gave := make(chan struct{}), make(chan error)
			go func() { gave <- read(ctx, endless(begun)) }()
			<-begun
			leave()
			if err := <-gave; !errors.Is(err, context.Canceled) {
				t.Fatalf("got %v", err)
			}
		}
		if err := read(t.Context(), func(*Tx) error { return nil }); err != nil {
			t.Error(err)
		}
	}
}

func TestCloseInterruptsReads(t *testing.T) {
	t.Parallel()
	s := fresh(t)
	begun, gave := make(chan struct{}), make(chan error)
	go func() { gave <- s.Read(t.Context(), endless(begun)) }()
	<-begun
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := <-gave; !errors.Is(err, errClosed) {
		t.Errorf("got %v", err)
	}
}
