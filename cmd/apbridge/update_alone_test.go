package main

import (
	"cmp"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/apbridge/apbridge/examples/threadagent"
)

// A state update on a thread whose agent cannot take it, does not know the
// thread any more, or is away is the bridge's own work, and the next run there
// starts from it.
func TestStateIsUpdatedWithoutTheAgent(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		answer int // to a state update; 0: nobody answers
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
			b := inFrontOf(t, srv.URL, asThreads)
			thread := b.post("/threads", `{}`).ok().text("thread_id")
			run := func(text string) answer {
				t.Helper()
				return b.post("/threads/"+thread+"/runs/wait", `{"assistant_id":"agent","input":{"messages":[{"role":"user","content":"`+text+`"}]}}`).ok()
			}
			run("one")
			away.Store(c.answer == 0)
			b.post("/threads/"+thread+"/state", `{"values":{"messages":[{"role":"user","content":"between"}]}}`).ok()
			away.Store(false)
			if c.answer == 404 {
				fresh()
			}
			if got := string(run("two").body); !says(got, "one", "between", "two", "The answer to two.") {
				t.Errorf("the next run knows %s", got)
			}
		})
	}
}

// P B14: update_state of LangGraph's SDK for Python may send a list of values.
func TestStateTakesAListOfValues(t *testing.T) {
	t.Parallel()
	b := inFront(t, threadagent.Handler(), asThreads)
	for name, known := range map[string]bool{"a thread that the agent knows": true, "a thread that it does not know": false} {
		thread := "/threads/" + b.post("/threads", `{}`).ok().text("thread_id")
		if known {
			b.post(thread+"/runs/wait", `{"assistant_id":"agent",`+saysHi+`}`).ok()
		}
		b.post(thread+"/state", `{"values":[{"messages":[{"role":"user","content":"one"}]},{"messages":[{"role":"user","content":"two"}]}]}`).ok()
		if got := string(b.get(thread + "/state").ok().body); !says(got, "one", "two") {
			t.Errorf("%s: %s", name, got)
		}
		b.post(thread+"/state", `{"values":[]}`).ok()
	}
}
