package store

import (
	"context"
	"path/filepath"
	"slices"
	"testing"

	"go.uber.org/zap"
)

func TestParametersNeedNoNames(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		plain string
		order []int
	}{
		"BEGIN": {"BEGIN", nil},
		"INSERT INTO a VALUES ($1, $2), ($3, NULL)":   {"INSERT INTO a VALUES (?, ?), (?, NULL)", nil},
		"SELECT 1 LIMIT CAST($1 AS BIGINT) OFFSET $2": {"SELECT 1 LIMIT CAST(? AS BIGINT) OFFSET ?", nil},
		"SELECT 1 FROM a WHERE b = $1 AND c = $1":     {"SELECT 1 FROM a WHERE b = ? AND c = ?", []int{0, 0}},
		"UPDATE a SET b = $2 WHERE c = $1":            {"UPDATE a SET b = ? WHERE c = ?", []int{1, 0}},
	} {
		plain, order := nameless(text)
		if plain != want.plain || !slices.Equal(order, want.order) {
			t.Errorf("%s: got %s, %v", text, plain, order)
		}
	}
}

// What a statement is given stays what its numbers say, and too few arguments are
// refused.
func TestParametersKeepTheirNumbers(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s, err := Open(ctx, filepath.Join(t.TempDir(), "p.db"), Options{}, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const text = `SELECT $2 || $1 || $2`
	for _, given := range []in{{"a", "b"}, {"a"}, {}} {
		var got string
		err := s.read1(ctx, func(x *tx) error { return x.get(text, given, out{&got}) })
		if ok := len(given) == 2; ok != (err == nil) || ok && got != "bab" {
			t.Errorf("%v: got %q, %v", given, got, err)
		}
	}
}
