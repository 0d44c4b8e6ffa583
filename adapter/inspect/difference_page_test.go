package inspect

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDifferenceInWords(t *testing.T) {
	t.Parallel()
	const hi, bye = `{"type":"human","content":"hi","id":"1"}`, `{"type":"ai","content":"bye","id":"2"}`
	for _, tt := range []struct {
		before, after string
		summary       string
		changes       []string
	}{
		{`{}`, `{}`, "Nothing changed between step 3 and step 5.", nil},
		{`{"messages":[` + hi + `],"n":1}`, `{"messages":[` + hi + `,` + bye + `],"n":2,"m":1,"l":1}`,
			"1 message added, 2 values added, 1 value changed between step 3 and step 5.",
			[]string{"added messages.2: agent bye", "changed n: 1 to 2", "added m:  to 1", "added l:  to 1"}},
		{`{"messages":[` + hi + `,` + bye + `]}`, `{"messages":[` + strings.Replace(hi, "hi", "ho", 1) + `]}`,
			"1 message changed, 1 message removed between step 3 and step 5.",
			[]string{"changed messages.1, by person: content [hi|ho]", "removed messages.2: agent bye"}},
		{`{}`, `{"messages":[` + hi + `]}`, "1 message added between step 3 and step 5.", []string{"added messages.1: person hi"}},
		{`{"messages":[` + hi + `,` + bye + `]}`, `{"messages":[` + bye + `,` + hi + `]}`, "1 value changed between step 3 and step 5.", []string{"changed messages:  to The messages are in another order."}},
		{`{"messages":"x"}`, `{"messages":[]}`, "1 value changed between step 3 and step 5.", []string{"changed messages: x to []"}},
		{`{"files":{"a":{"content":"x","modified_at":"1"}}}`, `{"files":{"a":{"content":"y","modified_at":"2"}}}`, "1 value changed between step 3 and step 5.", []string{"changed files.a.content: [x|y]"}},
		{`7`, `{"a":1}`, "1 value changed between step 3 and step 5.", []string{"changed : 7 to {\n  \"a\": 1\n}"}},
	} {
		v := differenceView{From: "f", FromStep: "step 3", ToStep: "step 5"}
		v.Changes, v.More = changesOf(json.RawMessage(tt.before), json.RawMessage(tt.after), 10)
		var got []string
		for _, c := range v.Changes {
			text := fmt.Sprintf("%s %s", c.Kind, c.Path)
			switch {
			case c.Turn != nil:
				text += ": " + c.Turn.Role + " " + c.Turn.Text.Text
			case c.Message != "":
				text += ", by " + c.Message + ":"
				for _, p := range c.Parts {
					text += " " + p.Path + " " + shortForm(p.Words)
				}
			case c.Words != nil:
				text += ": " + shortForm(c.Words)
			default:
				text += ": " + c.Before.Text + " to " + c.After.Text
			}
			got = append(got, text)
		}
		if diff := cmp.Diff(tt.changes, got); diff != "" || v.summary() != tt.summary || v.More {
			t.Errorf("%s to %s: %s (-want +got):\n%s", tt.before, tt.after, v.summary(), diff)
		}
	}
}

func TestDifferenceNamesItsEnds(t *testing.T) {
	t.Parallel()
	for want, v := range map[string]differenceView{
		"Nothing changed between the start and step 1.":      {From: "a", FromStep: "the start", ToStep: "step 1"},
		"Nothing changed with the first checkpoint.":         {ToStep: "the start"},
		"Nothing changed between step 1 (a) and step 1 (b).": {From: "a", FromStep: "step 1", To: "b", ToStep: "step 1"},
	} {
		if got := v.summary(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestDifferencePageIsBounded(t *testing.T) {
	t.Parallel()
	many := func(n int) json.RawMessage {
		list := make([]string, n)
		for i := range list {
			list[i] = fmt.Sprintf(`{"id":"%d","type":"ai","content":"x"}`, i)
		}
		return json.RawMessage(`{"messages":[` + strings.Join(list, ",") + `],"n":` + fmt.Sprint(n) + `}`)
	}
	for _, tt := range []struct {
		n, listed int
		more      bool
	}{{8, 9, false}, {9, 10, false}, {10, 10, true}, {50, 10, true}} {
		v := differenceView{From: "f", FromStep: "step 1", ToStep: "step 2"}
		v.Changes, v.More = changesOf(many(0), many(tt.n), 10)
		if len(v.Changes) != tt.listed || v.More != tt.more || strings.HasPrefix(v.summary(), "More than 10 changes") != tt.more {
			t.Errorf("%d messages: %d changes, more %v: %s", tt.n, len(v.Changes), v.More, v.summary())
		}
	}
}

// The common parts of long texts are cut to their ends next to a difference.
func TestComparedTextsAreShortened(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("so ", 300)
	for _, tt := range []struct{ before, after, want string }{
		{"a blue wall", "a black wall", "a [blue|black] wall"},
		{"a wall", "a wall of stone", "a wall[| of stone]"},
		{"ä", "ö", "[ä|ö]"},
		{long + "a " + long, long + "b " + long, "…" + long[len(long)-maxAround:] + "[a|b] " + long[:maxAround-1] + "…"},
		{"a " + long + "b", "c " + long + "d", "[a|c] " + long[:maxAround-1] + "…" + long[len(long)-maxAround:] + "[b|d]"},
		{"", strings.Repeat("ä", maxText), "[|" + strings.Repeat("ä", maxText/2) + "…]"},
	} {
		work := wordWork
		if diff := cmp.Diff(tt.want, shortForm(shortened(wordDifference(tt.before, tt.after, &work)))); diff != "" {
			t.Errorf("%.20q to %.20q (-want +got):\n%s", tt.before, tt.after, diff)
		}
	}
}

// Messages that were added together are one group.
func TestChangesAreGrouped(t *testing.T) {
	t.Parallel()
	message := func(kind changeKind) changeView { return changeView{Kind: kind, Turn: &turn{}} }
	v := differenceView{Changes: []changeView{message(added), message(added), {Kind: changed}, {Kind: changed}, message(added), message(removed)}}
	var sizes []int
	for _, g := range v.Groups() {
		sizes = append(sizes, len(g))
	}
	if diff := cmp.Diff([]int{2, 1, 1, 1, 1}, sizes); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
