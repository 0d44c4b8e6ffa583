package proxy

import (
	"net/http"
	"testing"
)

// TestRunOf: the access line names the run that an answer or a path tells.
func TestRunOf(t *testing.T) {
	t.Parallel()
	const run, other = "0190e1f2-0000-7000-8000-000000000001", "0190e1f2-0000-7000-8000-000000000002"
	for _, x := range []struct{ location, path, want string }{
		{"/threads/t/runs/" + run, "/threads/t/runs/stream", run}, {"/runs/" + run, "/runs/wait", run},
		{"", "/runs/" + run + "/explain", run}, {"", "/threads/t/runs/" + run, run}, {"/runs/" + run, "/runs/" + other, run},
		{"", "/runs/search", ""}, {"", "/runs", ""}, {"", "/runs/crons/" + run, ""}, {"", "/", ""}, {"elsewhere", "/runs/wait", ""},
	} {
		if got := runOf(http.Header{"Content-Location": {x.location}}, x.path); got != x.want {
			t.Errorf("%q, %s: %q, want %q", x.location, x.path, got, x.want)
		}
	}
}
