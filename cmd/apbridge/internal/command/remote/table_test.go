package remote

import (
	"strings"
	"testing"
)

// TestRowsAreLines checks that a row stays on one line, whatever names clients chose.
func TestRowsAreLines(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	if err := table(&out, "A B", [][]string{{"one\ntwo", "x\ty\r\f\v"}, {"1", "2"}}); err != nil {
		t.Fatal(err)
	}
	want := "A             B\none\\u000atwo  x\\u0009y\\u000d\\u000c\\u000b\n1             2\n"
	if out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}
