package body_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/body"
	"github.com/apbridge/apbridge/mapping"
)

func TestUnknown(t *testing.T) {
	t.Parallel()
	h := http.Header{}
	for _, name := range []string{"eval_id", "a b", "two,", "x\r\nSet-Cookie: y", "", "later"} {
		if err := body.Unknown(h, name, "input"); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	if got, want := h.Get(body.IgnoredHeader), "eval_id, ..."; got != want {
		t.Errorf("the header is %q, want %q", got, want)
	}
	if err := body.Unknown(http.Header{}, "inptu", "input", "additional_input"); mapping.Classify(err).Class != mapping.Invalid || !strings.Contains(err.Error(), "Did you mean input?") {
		t.Errorf("a misspelled name: %v", err)
	}
	if err := body.Unknown(h, "inptu", "input"); err != nil {
		t.Errorf("a name after the header is full: %v", err)
	}
	long := http.Header{}
	for range 1000 {
		body.Ignored(long, "a_name_of_a_certain_length")
	}
	if n := len(long.Get(body.IgnoredHeader)); n > 600 {
		t.Errorf("the header has %d bytes", n)
	}
}
