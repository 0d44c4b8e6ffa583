package proxy

import (
	"net/http"
	"testing"

	"github.com/apbridge/apbridge/adapter"
)

// TestRunOf checks that the access log has the run from the response or the path.
func TestRunOf(t *testing.T) {
	t.Parallel()
	const run, other = "0190e1f2-0000-7000-8000-000000000001", "0190e1f2-0000-7000-8000-000000000002"
	l := &accessLog{runIn: func(path string) string {
		return adapter.RunIn([]string{"/runs/{run}", "/threads/{thread}/runs/{run}"}, path)
	}}
	for _, x := range []struct{ location, path, want string }{
		{"/threads/t/runs/" + run, "/threads/t/runs/stream", run}, {"/runs/" + run, "/runs/wait", run},
		{"", "/runs/" + run + "/explain", run}, {"", "/threads/t/runs/" + run, run}, {"/runs/" + run, "/runs/" + other, run},
		{"", "/runs/search", ""}, {"", "/runs", ""}, {"", "/runs/crons/" + run, ""}, {"", "/", ""}, {"elsewhere", "/runs/wait", ""},
	} {
		if got := l.runOf(http.Header{"Content-Location": {x.location}}, x.path); got != x.want {
			t.Errorf("%q, %s: %q, want %q", x.location, x.path, got, x.want)
		}
	}
	if got := (&accessLog{}).runOf(http.Header{}, "/runs/"+run); got != "" {
		t.Errorf("if no path names a run: %q", got)
	}
}
