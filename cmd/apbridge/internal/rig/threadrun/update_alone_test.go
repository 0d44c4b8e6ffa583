package threadrun

import (
	"cmp"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/examples/threadagent"
)

// If a thread's agent refuses a state update, no longer has the thread, or is unavailable, the bridge performs the
// update itself, and the next run starts from it.
func TestStateUpdateWithoutTheAgent(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		answer int // to a state update; 0: no answer
	}{{"no such method", 405}, {"no such route", 501}, {"no such thread", 404}, {"away", 0}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var agent atomic.Pointer[http.Handler]
			fresh := func() { h := threadagent.Handler(); agent.Store(&h) }
			fresh()
			away := atomic.Bool{}
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch update := r.Method == "POST" && strings.HasSuffix(r.URL.Path, "/state"); {
				case away.Load():
					panic(http.ErrAbortHandler)
				case update:
					w.WriteHeader(cmp.Or(c.answer, http.StatusMethodNotAllowed))
				default:
					(*agent.Load()).ServeHTTP(w, r)
				}
			}))
			t.Cleanup(srv.Close)
			b := rig.InFrontOf(t, srv.URL, rig.AsThreads)
			thread := b.Post("/threads", `{}`).OK().Text("thread_id")
			run := func(text string) rig.Answer {
				t.Helper()
				return b.Post("/threads/"+thread+"/runs/wait", `{"assistant_id":"agent","input":{"messages":[{"role":"user","content":"`+text+`"}]}}`).OK()
			}
			run("one")
			away.Store(c.answer == 0)
			b.Post("/threads/"+thread+"/state", `{"values":{"messages":[{"role":"user","content":"between"}]}}`).OK()
			away.Store(false)
			if c.answer == 404 {
				fresh()
			}
			if got := string(run("two").Body); !rig.Says(got, "one", "between", "two", "The answer to two.") {
				t.Errorf("the next run received %s", got)
			}
		})
	}
}

// update_state of LangGraph's SDK for Python may send a list of values (P B14).
func TestStateUpdateWithAListOfValues(t *testing.T) {
	t.Parallel()
	b := rig.InFront(t, threadagent.Handler(), rig.AsThreads)
	for name, known := range map[string]bool{"a thread that the agent knows": true, "a thread that it does not know": false} {
		thread := "/threads/" + b.Post("/threads", `{}`).OK().Text("thread_id")
		if known {
			b.Post(thread+"/runs/wait", `{"assistant_id":"agent",`+rig.SaysHi+`}`).OK()
		}
		b.Post(thread+"/state", `{"values":[{"messages":[{"role":"user","content":"one"}]},{"messages":[{"role":"user","content":"two"}]}]}`).OK()
		if got := string(b.Get(thread + "/state").OK().Body); !rig.Says(got, "one", "two") {
			t.Errorf("%s: %s", name, got)
		}
		b.Post(thread+"/state", `{"values":[]}`).OK()
	}
}
