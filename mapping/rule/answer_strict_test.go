package rule

import (
	"testing"

	"github.com/apbridge/apbridge/mapping"
)

func TestStrictAnswers(t *testing.T) {
	t.Parallel()
	one := []mapping.Interrupt{{ID: "a"}}
	two := []mapping.Interrupt{{ID: "a"}, {ID: "b"}}
	for _, c := range []struct {
		answer string
		open   []mapping.Interrupt
		reason string
	}{
		{`"yes"`, one, ""}, {`null`, one, ""}, {`{"type":"accept"}`, one, ""}, {`{"a":1}`, one, ""},
		{`{"a":1}`, two, ""}, {`{"a":1,"b":2}`, two, ""},
		{`{}`, one, "empty_map"}, {`{}`, two, "empty_map"},
		{`{"a":1,"c":2}`, two, "not_pending"}, {`{"a":1,"c":2}`, one, "not_pending"},
		{`"yes"`, two, "ambiguous"}, {`false`, two, "ambiguous"}, {`null`, two, "ambiguous"}, {`{"type":"accept"}`, two, "ambiguous"},
	} {
		got := ""
		if e, ok := CheckStrictly(asRaw(c.answer), c.open).(*mapping.Error); ok {
			got = e.Detail.(map[string]any)["reason"].(string)
		}
		if got != c.reason {
			t.Errorf("%s with %d open: %q, want %q", c.answer, len(c.open), got, c.reason)
		}
	}
}
