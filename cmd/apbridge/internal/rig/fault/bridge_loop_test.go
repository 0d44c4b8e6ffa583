package fault

import (
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"testing"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/config"
)

// detour is a server that forwards to a destination which is set later.
type detour struct {
	to    atomic.Pointer[url.URL]
	calls atomic.Int64
}

func (d *detour) lead(t *testing.T, to string) {
	t.Helper()
	u, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	d.to.Store(u)
}

func (d *detour) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.calls.Add(1)
	httputil.NewSingleHostReverseProxy(d.to.Load()).ServeHTTP(w, r)
}

// TestBridgeInFrontOfItself checks that a request which returns to the bridge, directly or through another bridge, is
// refused, that the run says why, and that it does not loop.
func TestBridgeInFrontOfItself(t *testing.T) {
	t.Parallel()
	for _, dialect := range []string{"taskstep", "threadrun", "a2a", "auto"} {
		for _, bridges := range []int{1, 2} {
			t.Run(dialect+", bridges "+string(rune('0'+bridges)), func(t *testing.T) {
				t.Parallel()
				back := &detour{}
				speaks := func(a *config.Agent) { a.Dialect = dialect }
				first := rig.InFront(t, back, speaks)
				back.lead(t, first.URL)
				if bridges == 2 {
					second := rig.InFrontOf(t, first.URL, speaks)
					back.lead(t, second.URL)
				}
				got := first.Post("/runs/wait", `{"assistant_id":"agent",`+rig.SaysHi+`}`)
				if dialect != "auto" && !rig.Says(string(got.Body), "come through this bridge before") {
					t.Errorf("got %d %s", got.Status, got.Body)
				}
				if n := back.calls.Load(); n > 20 {
					t.Errorf("%d requests returned to the bridge", n)
				}
			})
		}
	}
}

// TestLongChainsOfBridges checks that a chain of too many bridges is refused in every dialect, because replicas cannot
// recognise each other, and that a short one is served.
func TestLongChainsOfBridges(t *testing.T) {
	t.Parallel()
	b := rig.InFrontOf(t, "http://127.0.0.1:9")
	far := "apbridge;id=1, apbridge;id=2, apbridge;id=3, apbridge;id=4, apbridge;id=5, apbridge;id=6, apbridge;id=7, apbridge;id=8, apbridge;id=9"
	b.Do("POST", "/a2a/agent", "{}", "CDN-Loop", far).Want(t, 422, `"code":422,"status":"INVALID_ARGUMENT"`, "through 9 servers")
	for _, path := range []string{"/threads", "/ap/v1/agent/tasks"} {
		if got := b.Do("POST", path, `{}`, "CDN-Loop", far).Is(422); !rig.Says(string(got.Body), "through 9 servers", "treated as a loop") {
			t.Errorf("response to %s: %s", path, got.Body)
		}
	}
	b.Do("POST", "/threads", `{}`, "CDN-Loop", "apbridge;id=1, cdn.example").OK()
}
