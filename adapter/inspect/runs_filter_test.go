package inspect

import (
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The form shows each condition of an address in its own format: times with a zone or without, a removed agent.
func TestFormShowsItsFilter(t *testing.T) {
	t.Parallel()
	f, err := readFilter(url.Values{"since": {"2026-01-02T01:04:05+02:00"}, "until": {"2026-01-02T03:04:05.000001Z"}, "agent": {"gone"}})
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequestWithContext(t.Context(), "GET", "/inspect", nil)
	r.Header.Set("Accept", "text/html")
	w := httptest.NewRecorder()
	if err := new(server).show(w, r, runsHTML, "Runs", runsView{Filter: f}); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{`value="2026-01-01T23:04:05"`, `value="2026-01-02T03:04:06"`} {
		if !strings.Contains(w.Body.String(), part) {
			t.Errorf("no %s in %s", part, w.Body)
		}
	}
	if again := (runFilter{Since: "2026-01-02"}).SinceField(); again != "2026-01-02T00:00:00" {
		t.Errorf("a day: %s", again)
	}
	if (runFilter{}).UntilField() != "" || (runFilter{Until: "soon"}).UntilField() != "" {
		t.Error("the form's field has no time")
	}
}

// A chip sets one condition, keeps the others and begins with the newest run.
func TestChipsOfAFilter(t *testing.T) {
	t.Parallel()
	f, err := readFilter(url.Values{"status": {"error"}, "agent": {"a b"}, "text": {"x"}, "before": {"place"}})
	if err != nil {
		t.Fatal(err)
	}
	l := runsView{Filter: f, Agents: []string{"a b", "c"}, Statuses: statuses}
	var got []chip
	for _, list := range [][]chip{l.StatusChips()[:2], l.AgentChips(), l.Conditions()} {
		got = append(got, list...)
	}
	want := []chip{
		{Value: "all", Query: "?agent=a+b&text=x"}, {Value: "pending", Query: "?agent=a+b&status=pending&text=x"},
		{Value: "a b", Query: "?status=error&text=x", On: true}, {Value: "c", Query: "?agent=c&status=error&text=x"},
		{Name: "text", Value: "x", Query: "?agent=a+b&status=error", On: true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	l.Agents = slices.Repeat(l.Agents, maxAgentChips)
	if chips := l.AgentChips(); chips != nil || len(l.Conditions()) != 2 {
		t.Errorf("of many agents: %v, and %v", chips, l.Conditions())
	}
}
