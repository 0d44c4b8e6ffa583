package field

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/mapping"
	"github.com/google/go-cmp/cmp"
)

// threadWithTwoStates creates a thread with two states. Only the second has a size.
func (w *fixture) threadWithTwoStates() (at string, ids map[string]string) {
	at = "/threads/" + w.Post("/threads", `{"supersteps":[{"updates":[{"values":{"colour":"red"}}]},{"updates":[{"values":{"size":7}}]}]}`).OK().Text("thread_id")
	history := w.Get(at + "/history").OK().List("")
	return at, map[string]string{"first": rig.TextOf(rig.Dig(history[1], "checkpoint.checkpoint_id")), "thread_id": strings.TrimPrefix(at, "/threads/")}
}

// forks checks that the run starts from the thread's newest state without the field, and from the previous state with
// it.
func (w *fixture) forks(base, more string) row {
	return row{func(t *testing.T, op string, _ field) {
		for extra, want := range map[string]any{`{}`: 7.0, more: nil} {
			at, ids := w.threadWithTwoStates()
			request := fill(ids, merge(base, extra))
			if family(op) == "RUN" {
				w.launch(t, op, at, request).OK()
			} else {
				w.send(t, fill(ids, op), request).OK()
			}
			if got := w.Get(at + "/state").OK(); got.At("values.colour") != "red" || got.At("values.size") != want {
				t.Errorf("%s: %s", request, got.Body)
			}
		}
	}}
}

// checkDelay checks that the run waits for its start time and reports it.
func (w *fixture) checkDelay(t *testing.T, op string) {
	th := w.Thread()
	body := `{"assistant_id":"agent","input":"later","after_seconds":3600}`
	method, path := split(op)
	if path = strings.Replace(path, "/threads/{thread_id}", th, 1); !strings.HasPrefix(path, th) {
		body = merge(body, `{"thread_id":"`+strings.TrimPrefix(th, "/threads/")+`"}`)
	}
	ctx, leave := context.WithCancel(t.Context())
	var request sync.WaitGroup
	request.Go(func() { _, _ = w.Try(ctx, method, path, body) })
	rig.Eventually(t, "the run", func() bool { return len(w.Get(th+"/runs").OK().List("")) == 1 })
	run := th + "/runs/" + rig.TextOf(rig.Dig(w.Get(th + "/runs").OK().List("")[0], "run_id"))
	if got := w.Get(run + "/explain").OK(); got.Text("reason") != "delayed" || got.Text("status") != "pending" {
		t.Errorf("%s", got.Body)
	}
	leave()
	request.Wait()
}

// checkCompletion checks that the thread of a stateless run is removed after the run, or kept if requested.
func (w *fixture) checkCompletion(t *testing.T, op string) {
	method, path := split(op)
	for more, goes := range map[string]bool{`{}`: true, `{"on_completion":"delete"}`: true, `{"on_completion":"keep"}`: false} {
		made := w.Do(method, path, merge(`{"assistant_id":"agent","input":"hi"}`, more)).OK()
		run := made.Header.Get("Content-Location")
		w.Get(run + "/join").OK()
		th := w.Get("/threads/" + w.Get(run).OK().Text("thread_id") + "?include=ttl").OK()
		if (rig.TextOf(rig.Dig(th.At(""), "ttl.expires_at")) != "") != goes {
			t.Errorf("%s: %s", more, th.Body)
		}
	}
}

// checkResume checks that a run that waits after a step continues when it is answered, and only then.
func (w *fixture) checkResume(t *testing.T, op string) {
	th := w.Thread()
	w.launch(t, op, th, `{"assistant_id":"agent","input":"hi","interrupt_after":"*"}`).OK()
	checkText(t, w.Get(th).OK(), "status", "interrupted")
	w.launch(t, op, th, `{"assistant_id":"agent","command":{"resume":{"type":"accept"}}}`).OK()
	checkText(t, w.Get(th).OK(), "status", "idle")
	if got := w.launch(t, op, th, `{"assistant_id":"agent","command":{"resume":{"type":"accept"}}}`); got.Status != 409 {
		t.Errorf("resumed although no question is open: %d %s", got.Status, got.Body)
	}
}

func checkText(t *testing.T, a rig.Answer, member, want string) {
	t.Helper()
	if a.Text(member) != want {
		t.Errorf("%s is not %q: %s", member, want, a.Body)
	}
}

// checkWebhook checks that only the given address is notified of the run's outcome.
func (w *fixture) checkWebhook(t *testing.T, op string) {
	received := make(chan string, 10)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		received <- r.URL.Path + " " + string(body)
	}))
	t.Cleanup(hook.Close)
	w.launch(t, op, "", `{"assistant_id":"agent","input":"hi"}`).OK()
	run := w.launch(t, op, "", `{"assistant_id":"agent","input":"hi","webhook":"`+hook.URL+`/here"}`).OK().run
	select {
	case got := <-received:
		if !strings.HasPrefix(got, "/here ") || !strings.Contains(got, run.Text("run_id")) || !strings.Contains(got, `"status":"success"`) {
			t.Errorf("webhook %s of run %s", got, run.Body)
		}
	case <-time.After(adaptertest.Patience):
		t.Error("no webhook arrived")
	}
}

// checkStreamModes checks that a run of the default stream mode can be read in another mode.
func (w *fixture) checkStreamModes(t *testing.T, op string, _ field) {
	_, path := split(fill(w.ids, op))
	for query, want := range map[string]string{"": "values", "?stream_mode=updates": "updates", "?stream_mode=%5B%22updates%22%5D": "updates"} {
		got := string(w.Do("GET", path+query, "", "Last-Event-ID", "-1").OK().Body)
		if strings.Contains(got, "event: values") != (want == "values") || strings.Contains(got, "event: updates") != (want == "updates") {
			t.Errorf("%q: %s", query, got)
		}
	}
}

// limited checks that the response to with is a list of only the first element of the response to without. The thread
// or assistant in the path is a probe, which has several elements.
func (w *fixture) limited(without, with string) row {
	return row{func(t *testing.T, op string, _ field) {
		op = strings.NewReplacer("{thread_id}", "{thread one}", "{assistant_id}", "{assistant one}").Replace(op)
		all, one := w.send(t, op, without).OK().List(""), w.send(t, op, with).OK().List("")
		if len(all) < 2 || len(one) != 1 || !cmp.Equal(one[0], all[0]) {
			t.Errorf("got %v\nfrom the list %v", one, all)
		}
	}}
}

// checkSetLatest checks that the assistant has the content of the version that is set as the latest.
func (w *fixture) checkSetLatest(t *testing.T, op string, _ field) {
	made := w.Post("/assistants", `{"graph_id":"graph","name":"first name"}`).OK().Text("assistant_id")
	w.Do("PATCH", "/assistants/"+made, `{"name":"second name"}`).OK()
	method, path := split(fill(map[string]string{"assistant_id": made}, op))
	for version, name := range []string{"first name", "second name"} {
		checkText(t, w.Do(method, path, `{"version":`+strconv.Itoa(version+1)+`}`).OK(), "name", name)
		checkText(t, w.Get("/assistants/"+made).OK(), "name", name)
	}
	w.Do(method, path, `{"version":3}`).Is(404)
}

// checkSearchByValues checks that threads are found by values in their state.
func (w *fixture) checkSearchByValues(t *testing.T, op string, _ field) {
	colour := mapping.NewID()
	made := w.Post("/threads", `{"supersteps":[{"updates":[{"values":{"paint":{"colour":"`+colour+`","gloss":1}}}]}]}`).OK().Text("thread_id")
	for values, n := range map[string]int{`{"paint":{"colour":"` + colour + `"}}`: 1, `{"paint":{"colour":"` + colour + `x"}}`: 0} {
		got := w.send(t, op, `{"values":`+values+`}`).OK()
		if strings.HasSuffix(op, "/count") {
			if string(got.Body) != strconv.Itoa(n) {
				t.Errorf("%s: %s", values, got.Body)
			}
		} else if list := got.List(""); len(list) != n || n == 1 && rig.Dig(list[0], "thread_id") != made {
			t.Errorf("%s: %s", values, got.Body)
		}
	}
}

// checkItem checks that namespace and key select the item that is stored or deleted, and no other.
func (w *fixture) checkItem(t *testing.T, op string, _ field) {
	space, method := mapping.NewID(), strings.Fields(op)[0]
	at := `{"namespace":["` + space + `","a"],"key":"k1"`
	w.Do("PUT", "/store/items", at+`,"value":{"word":"magic"}}`).Is(204)
	path := "/store/items?namespace=" + space + ".a&key=k1"
	if got := w.Get(path).OK(); got.At("value.word") != "magic" || got.Text("key") != "k1" {
		t.Errorf("%s", got.Body)
	}
	for _, other := range []string{`{"namespace":["` + space + `","b"],"key":"k1"`, `{"namespace":["` + space + `","a"],"key":"k2"`} {
		if method == "DELETE" {
			w.Do("DELETE", "/store/items", other+"}").Is(204)
		} else {
			w.Do("PUT", "/store/items", other+`,"value":{"word":"other"}}`).Is(204)
		}
		if got := w.Get(path).OK(); got.At("value.word") != "magic" {
			t.Errorf("after %s: %s", other, got.Body)
		}
	}
	if method == "DELETE" {
		w.Do("DELETE", "/store/items", at+"}").Is(204)
		w.Get(path + "&flavour=agentprotocol").Is(404)
	}
}
