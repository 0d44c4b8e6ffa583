package main

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
)

// connected is an agent that counts its connections.
type connected struct {
	*httptest.Server
	made, open atomic.Int64
}

func connectedAgent(t *testing.T, h http.HandlerFunc) *connected {
	t.Helper()
	c := &connected{Server: httptest.NewUnstartedServer(h)}
	c.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		switch s {
		case http.StateNew:
			c.made.Add(1)
			c.open.Add(1)
		case http.StateClosed:
			c.open.Add(-1)
		}
	}
	c.Start()
	t.Cleanup(c.Close)
	return c
}

// left waits for a number of open connections, for less time than an unused one is kept.
func (c *connected) left(t *testing.T, want int64) {
	t.Helper()
	rig.Within(t, 10*time.Second, "connections that are not used any more are closed", func() bool { return c.open.Load() == want })
}

// TestReloadOfAWayThrough checks that passthrough to an agent with a changed address, or to a removed one, keeps no
// connections except those in use, which continue. Passthrough to an unchanged agent keeps its connections.
func TestReloadOfAWayThrough(t *testing.T) {
	t.Parallel()
	held, hold := make(chan struct{}), make(chan struct{})
	release := sync.OnceFunc(func() { close(hold) })
	answer := func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ole") }
	changed, shut, stays := connectedAgent(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/held" {
			_, _ = io.WriteString(w, "wh")
			_ = http.NewResponseController(w).Flush()
			close(held)
			<-hold
		}
		answer(w, r)
	}), connectedAgent(t, answer), connectedAgent(t, answer)
	agents := func(more, through string) string {
		way := func(name string, to *connected, with string) string {
			return "  " + name + ": {url: '" + to.URL + "', dialect: taskstep, " + with + "}\n"
		}
		return "agents:\n" + way("changed", changed, "passthrough: true"+more) + way("shut", shut, "passthrough: "+through) + way("stays", stays, "passthrough: true")
	}
	t.Cleanup(release)
	r := startReloaded(t, agents("", "true"))
	whole := make(chan string, 1)
	go func() {
		res := r.open("", "GET", "/agents/changed/upstream/held", "")
		defer res.Body.Close()
		body, _ := io.ReadAll(res.Body)
		whole <- string(body)
	}()
	<-held
	for _, name := range []string{"changed", "shut", "stays"} {
		r.want(200, "", "GET", "/agents/"+name+"/upstream/x", "", "ole")
	}
	r.reload(agents(", headers: {X-Token: other}", "false"), "configuration reloaded")
	shut.left(t, 0)
	changed.left(t, 1)
	release()
	if body := <-whole; body != "whole" {
		t.Errorf("what was under way is answered %q", body)
	}
	changed.left(t, 0)
	r.want(200, "", "GET", "/agents/changed/upstream/x", "", "ole")
	r.want(200, "", "GET", "/agents/stays/upstream/x", "", "ole")
	if made, open := stays.made.Load(), stays.open.Load(); made != 1 || open != 1 {
		t.Errorf("to the agent that stays %d connections were made, %d are open", made, open)
	}
}
