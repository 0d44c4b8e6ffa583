package inspect

import (
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
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
