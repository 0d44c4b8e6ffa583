package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/mapping"
	"github.com/google/go-cmp/cmp"
)

// pastThread has two states, of which only the second has a size.
func (w *fieldWorld) pastThread() (at string, ids map[string]string) {
	at = "/threads/" + w.post("/threads", `{"supersteps":[{"updates":[{"values":{"colour":"red"}}]},{"updates":[{"values":{"size":7}}]}]}`).ok().text("thread_id")
	history := w.get(at + "/history").ok().list("")
	return at, map[string]string{"first": str(dig(history[1], "checkpoint.checkpoint_id")), "thread_id": strings.TrimPrefix(at, "/threads/")}
}

// forks: without the field the thread goes on from its newest state, with it from
// the one before.
func (w *fieldWorld) forks(base, more string) row {
	return row{func(t *testing.T, op string, _ field) {
		for extra, want := range map[string]any{`{}`: 7.0, more: nil} {
			at, ids := w.pastThread()
			request := put(ids, over(base, extra))
			if family(op) == "RUN" {
				w.launch(t, op, at, request).ok()
			} else {
				w.send(t, put(ids, op), request).ok()
			}
			if got := w.get(at + "/state").ok(); got.at("values.colour") != "red" || got.at("values.size") != want {
				t.Errorf("%s: %s", request, got.body)
			}
		}
	}}
}

// delayed: the run waits for its time, and says so.
func (w *fieldWorld) delayed(t *testing.T, op string) {
	th := w.thread()
	body := `{"assistant_id":"agent","input":"later","after_seconds":3600}`
	method, path := split(op)
	if path = strings.Replace(path, "/threads/{thread_id}", th, 1); !strings.HasPrefix(path, th) {
		body = over(body, `{"thread_id":"`+strings.TrimPrefix(th, "/threads/")+`"}`)
	}
	ctx, leave := context.WithCancel(t.Context())
	var asking sync.WaitGroup
	asking.Go(func() { _, _ = w.try(ctx, method, path, body) })
	soon(t, "the run", func() bool { return len(w.get(th+"/runs").ok().list("")) == 1 })
	run := th + "/runs/" + str(dig(w.get(th + "/runs").ok().list("")[0], "run_id"))
	if got := w.get(run + "/explain").ok(); got.text("reason") != "delayed" || got.text("status") != "pending" {
		t.Errorf("%s", got.body)
	}
	leave()
	asking.Wait()
}

// kept: the thread of a run that named none goes after it, or stays.
func (w *fieldWorld) kept(t *testing.T, op string) {
	method, path := split(op)
	for more, goes := range map[string]bool{`{}`: true, `{"on_completion":"delete"}`: true, `{"on_completion":"keep"}`: false} {
		made := w.do(method, path, over(`{"assistant_id":"agent","input":"hi"}`, more)).ok()
		run := made.header.Get("Content-Location")
		w.get(run + "/join").ok()
		th := w.get("/threads/" + w.get(run).ok().text("thread_id")).ok()
		if (str(dig(th.at(""), "ttl.expires_at")) != "") != goes {
			t.Errorf("%s: %s", more, th.body)
		}
	}
}

// resumed: what waits after a step goes on when it is answered, and only then.
func (w *fieldWorld) resumed(t *testing.T, op string) {
	th := w.thread()
	w.launch(t, op, th, `{"assistant_id":"agent","input":"hi","interrupt_after":"*"}`).ok()
	w.get(th).ok().expects(t, "status", "interrupted")
	w.launch(t, op, th, `{"assistant_id":"agent","command":{"resume":{"type":"accept"}}}`).ok()
	w.get(th).ok().expects(t, "status", "idle")
	if got := w.launch(t, op, th, `{"assistant_id":"agent","command":{"resume":{"type":"accept"}}}`); got.status != 409 {
		t.Errorf("nothing is asked any more: %d %s", got.status, got.body)
	}
}

func (a answer) expects(t *testing.T, member, want string) {
	t.Helper()
	if a.text(member) != want {
		t.Errorf("%s is not %q: %s", member, want, a.body)
	}
}

// hooked: the address is told how the run ended, and no other.
func (w *fieldWorld) hooked(t *testing.T, op string) {
	told := make(chan string, 10)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		told <- r.URL.Path + " " + string(body)
	}))
	t.Cleanup(hook.Close)
	w.launch(t, op, "", `{"assistant_id":"agent","input":"hi"}`).ok()
	run := w.launch(t, op, "", `{"assistant_id":"agent","input":"hi","webhook":"`+hook.URL+`/here"}`).ok2().run
	select {
	case got := <-told:
		if !strings.HasPrefix(got, "/here ") || !strings.Contains(got, run.text("run_id")) || !strings.Contains(got, `"status":"success"`) {
			t.Errorf("%s of %s", got, run.body)
		}
	case <-time.After(adaptertest.Patience):
		t.Error("nothing came")
	}
}

// joined: what was a run in the default mode is read in another.
func (w *fieldWorld) joined(t *testing.T, op string, _ field) {
	_, path := split(put(w.ids, op))
	for query, want := range map[string]string{"": "values", "?stream_mode=updates": "updates", "?stream_mode=%5B%22updates%22%5D": "updates"} {
		got := string(w.do("GET", path+query, "", "Last-Event-ID", "-1").ok().body)
		if strings.Contains(got, "event: values") != (want == "values") || strings.Contains(got, "event: updates") != (want == "updates") {
			t.Errorf("%q: %s", query, got)
		}
	}
}

// shortens: the answer is the first of those that come without. A thread and an assistant in the
// path are the probes, which have several of each.
func (w *fieldWorld) shortens(without, with string) row {
	return row{func(t *testing.T, op string, _ field) {
		op = strings.NewReplacer("{thread_id}", "{thread one}", "{assistant_id}", "{assistant one}").Replace(op)
		all, one := w.send(t, op, without).ok().list(""), w.send(t, op, with).ok().list("")
		if len(all) < 2 || len(one) != 1 || !cmp.Equal(one[0], all[0]) {
			t.Errorf("%v\nof %v", one, all)
		}
	}}
}

// setLatest: the assistant is what it was in that version.
func (w *fieldWorld) setLatest(t *testing.T, op string, _ field) {
	made := w.post("/assistants", `{"graph_id":"graph","name":"first name"}`).ok().text("assistant_id")
	w.do("PATCH", "/assistants/"+made, `{"name":"second name"}`).ok()
	method, path := split(put(map[string]string{"assistant_id": made}, op))
	for version, name := range []string{"first name", "second name"} {
		w.do(method, path, `{"version":`+jsonNumber(version+1)+`}`).ok().expects(t, "name", name)
		w.get("/assistants/"+made).ok().expects(t, "name", name)
	}
	w.do(method, path, `{"version":3}`).is(404)
}

// found: threads are found by what is in their state.
func (w *fieldWorld) found(t *testing.T, op string, _ field) {
	colour := mapping.NewID()
	made := w.post("/threads", `{"supersteps":[{"updates":[{"values":{"paint":{"colour":"`+colour+`","gloss":1}}}]}]}`).ok().text("thread_id")
	for values, n := range map[string]int{`{"paint":{"colour":"` + colour + `"}}`: 1, `{"paint":{"colour":"` + colour + `x"}}`: 0} {
		got := w.send(t, op, `{"values":`+values+`}`).ok()
		if strings.HasSuffix(op, "/count") {
			if string(got.body) != jsonNumber(n) {
				t.Errorf("%s: %s", values, got.body)
			}
		} else if list := got.list(""); len(list) != n || n == 1 && dig(list[0], "thread_id") != made {
			t.Errorf("%s: %s", values, got.body)
		}
	}
}

// stored: an item is where it was put, with what was put, and nowhere else when it was deleted.
func (w *fieldWorld) stored(t *testing.T, op string, _ field) {
	space, method := mapping.NewID(), strings.Fields(op)[0]
	at := `{"namespace":["` + space + `","a"],"key":"k1"`
	w.do("PUT", "/store/items", at+`,"value":{"word":"magic"}}`).is(204)
	path := "/store/items?namespace=" + space + ".a&key=k1"
	if got := w.get(path).ok(); got.at("value.word") != "magic" || got.text("key") != "k1" {
		t.Errorf("%s", got.body)
	}
	for _, other := range []string{`{"namespace":["` + space + `","b"],"key":"k1"`, `{"namespace":["` + space + `","a"],"key":"k2"`} {
		if method == "DELETE" {
			w.do("DELETE", "/store/items", other+"}").is(204)
		} else {
			w.do("PUT", "/store/items", other+`,"value":{"word":"other"}}`).is(204)
		}
		if got := w.get(path).ok(); got.at("value.word") != "magic" {
			t.Errorf("after %s: %s", other, got.body)
		}
	}
	if method == "DELETE" {
		w.do("DELETE", "/store/items", at+"}").is(204)
		w.get(path + "&flavour=agentprotocol").is(404)
	}
}
