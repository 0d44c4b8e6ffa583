package threadrun

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/apbridge/apbridge/mapping"
)

// begun has runs begin, and not go on by themselves.
func begun(mapping.Run) []mapping.Event { return twoSteps(mapping.Run{})[:2] }

// finish logs the rest of a run.
func (f *fake) finish(run mapping.Run) {
	for _, ev := range twoSteps(mapping.Run{})[2:] {
		f.more(run.ID, ev)
	}
}

func TestWhoStaysDoesTheWork(t *testing.T) {
	t.Parallel()
	for path, body := range map[string]string{
		"/runs/wait": `{"agent_id":"legacy"}`, aThread + "/runs/wait": `{"assistant_id":"legacy"}`,
	} {
		f := newFake()
		f.script, f.stays = begun, func(run mapping.Run) {
			if f.mu.Lock(); f.readers == 0 {
				t.Errorf("%s: nobody reads the run meanwhile", path)
			}
			f.mu.Unlock()
			f.finish(run)
		}
		if st := send(t, "POST", f.serve(t).URL+path, body); st != 200 {
			t.Errorf("%s: %d", path, st)
		}
	}
}

// Work that was left to a request is done also where the run cannot be read.
func TestTheWorkIsDoneThoughTheRunCannotBeRead(t *testing.T) {
	t.Parallel()
	f := newFake()
	done := 0
	f.script, f.breakAt, f.stays = begun, 1, func(mapping.Run) { done++ }
	if st := send(t, "POST", f.serve(t).URL+"/runs/wait", `{"agent_id":"legacy"}`); st != 500 || done != 1 {
		t.Errorf("%d, and the work was done %d times", st, done)
	}
}

// A wait that does the work sends line breaks meanwhile, as any other.
func TestSilenceIsBrokenDuringTheWork(t *testing.T) {
	t.Parallel()
	f := newFake()
	heard := make(chan struct{})
	f.script, f.stays = begun, func(run mapping.Run) {
		select {
		case <-heard:
		case <-time.After(patience):
			t.Error("nothing came")
		}
		f.finish(run)
	}
	srv := f.serve(t, func(s *server) { s.waitBeat = time.Millisecond })
	res, err := http.Post(srv.URL+"/runs/wait", "application/json", strings.NewReader(`{"assistant_id":"legacy"}`))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	first := make([]byte, 1)
	if _, err := io.ReadFull(res.Body, first); err != nil || first[0] != '\n' {
		t.Fatalf("%q, %v", first, err)
	}
	close(heard)
	rest, err := io.ReadAll(res.Body)
	if err != nil || !bytes.HasPrefix(bytes.TrimSpace(rest), []byte(`{"messages":`)) {
		t.Errorf("%s, %v", rest, err)
	}
}

// A client that leaves during the work has its run cancelled if it wanted that; else
// the work goes on to its end.
func TestClientThatLeavesDuringTheWork(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		body    string
		cancels bool
	}{
		"cancel":   {`{"agent_id":"legacy"}`, true},
		"continue": {`{"agent_id":"legacy","on_disconnect":"continue"}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake()
			ctx, drop := context.WithCancel(context.Background())
			defer drop()
			gone, done := make(chan struct{}), make(chan struct{})
			f.script, f.stays = begun, func(run mapping.Run) {
				drop()
				<-gone
				if c.cancels {
					waitFor(t, func() bool { f.mu.Lock(); defer f.mu.Unlock(); return !f.runs[run.ID].run.Status.Active() })
					return
				}
				f.finish(run)
			}
			inner := f.serve(t).Config.Handler
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				defer close(done)
				stop := context.AfterFunc(r.Context(), func() { close(gone) })
				defer stop()
				inner.ServeHTTP(w, r)
			}))
			t.Cleanup(srv.Close)
			req, _ := http.NewRequestWithContext(ctx, "POST", srv.URL+"/runs/wait", strings.NewReader(c.body))
			if res, err := http.DefaultClient.Do(req); err == nil {
				res.Body.Close()
				t.Error("the client has got an answer")
			}
			select {
			case <-done:
			case <-time.After(patience):
				t.Fatal("the handler does not return")
			}
			checkCancelled(t, f, c.cancels)
		})
	}
}
