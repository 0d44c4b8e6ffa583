package main

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/examples/legacyagent"
	"github.com/coder/websocket"
)

// endless is an agent whose steps and events only end when its callers leave.
func endless(asked *atomic.Int64) http.Handler {
	agent := legacyagent.Handler()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case rig.StepPosts(r):
			_, _ = io.Copy(io.Discard, r.Body)
		case r.URL.Path == "/events":
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, ": here\n\n")
			_ = http.NewResponseController(w).Flush()
		default:
			agent.ServeHTTP(w, r)
			return
		}
		asked.Add(1)
		<-r.Context().Done()
	})
}

// TestAllThatIsOpenEndsWithItsKey checks that the removal of a key ends everything in progress for it, and nothing for
// another key.
func TestAllThatIsOpenEndsWithItsKey(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	agents := "agents: {a: {url: '" + serving(t, endless(&asked)) + "', dialect: taskstep, passthrough: true, stepping: {mode: lockstep}}}\n"
	r := startReloaded(t, twoKeys+agents)
	thread := func(key string) string {
		at, _ := r.startRun(key, "a")
		return at
	}
	const run = `{"assistant_id":"a","input":"hi"}`
	open := map[string]func(key string) error{
		"a thread's stream": func(key string) error { return r.drain(key, "GET", thread(key)+"/stream", "") },
		"a run's stream":    func(key string) error { return r.drain(key, "POST", "/runs/stream", run) },
		"events": func(key string) error {
			return r.drain(key, "POST", thread(key)+"/stream/events", `{"channels":["values"]}`)
		},
		"a wait": func(key string) error { return r.drain(key, "POST", "/runs/wait", run) },
		"a join": func(key string) error {
			_, at := r.startRun(key, "a")
			return r.drain(key, "GET", at+"/join", "")
		},
		"a step": func(key string) error {
			task := rig.TextBetween(r.want(200, key, "POST", "/ap/v1/agent/tasks", `{"input":"hi"}`), `"task_id":"`, `"`)
			return r.drain(key, "POST", "/ap/v1/agent/tasks/"+task+"/steps", `{}`)
		},
		"the way through": func(key string) error { return r.drain(key, "GET", "/agents/a/upstream/events", "") },
		"a WebSocket": func(key string) error {
			conn, _, err := websocket.Dial(t.Context(), "ws"+strings.TrimPrefix(r.url, "http")+thread(key)+"/stream/events",
				&websocket.DialOptions{HTTPHeader: http.Header{"X-Api-Key": {key}}})
			if err != nil {
				return err
			}
			defer conn.CloseNow()
			for err == nil {
				_, _, err = conn.Read(t.Context())
			}
			return nil
		},
	}
	ended := make(chan string, 2*len(open))
	for name, wait := range open {
		for key, whose := range map[string]string{bobKey: "bob", aliceKey: "alice"} {
			go func() {
				if err := wait(key); err != nil {
					name = fmt.Sprint(name, ": ", err)
				}
				ended <- whose + "'s " + name
			}()
		}
	}
	rig.Eventually(t, "all steps are asked for", func() bool { return asked.Load() >= 2*8 })
	r.reload("auth: {keys: [{id: alice, key: "+aliceKey+"}]}\n"+agents, "configuration reloaded")
	for range open {
		select {
		case what := <-ended:
			if !strings.HasPrefix(what, "bob's ") {
				t.Errorf("%s has ended", what)
			}
		case <-time.After(adaptertest.Patience):
			t.Fatal("something goes on for a key that is gone")
		}
	}
	if n := len(ended); n != 0 {
		t.Errorf("%d more have ended", n)
	}
}

// drain reads a response until it ends in any way.
func (r *reloaded) drain(key, method, path, body string) error {
	req, err := http.NewRequestWithContext(r.t.Context(), method, r.url+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("X-Api-Key", key)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, res.Body)
	return nil
}
