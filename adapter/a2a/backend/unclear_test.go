package backend_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter/a2a/backend"
	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/mapping"
)

// unreadable is an agent that does its work and then calls respond instead of sending its response to the message.
type unreadable struct {
	*adaptertest.A2AAgent
	respond func(http.ResponseWriter)
}

func (a unreadable) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	if !bytes.Contains(body, []byte(`"messageId"`)) {
		a.A2AAgent.ServeHTTP(w, r)
		return
	}
	a.A2AAgent.ServeHTTP(httptest.NewRecorder(), r)
	a.respond(w)
}

func writing(kind, body string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", kind)
		_, _ = io.WriteString(w, body)
	}
}

// The work behind an unreadable response is found among the agent's tasks. An agent that cannot list them may have done it.
func TestAnUnreadableResponseIsLookedUp(t *testing.T) {
	t.Parallel()
	const limit = 20_000
	long := strings.Repeat("x", limit+1)
	for name, respond := range map[string]func(http.ResponseWriter){
		"a page":                    writing("text/html", "<html>"),
		"no event":                  writing("application/json", `{"x":1}`),
		"neither task nor message":  writing("application/json", `{"jsonrpc":"2.0","id":"1","result":{}}`),
		"too long":                  writing("application/json", long),
		"an event that is too long": writing("text/event-stream", "data: "+long+"\n\n"),
	} {
		for _, v := range []*adaptertest.A2AAgent{{}, {NoStream: true}, {Version: "0.3"}} {
			a := v.New()
			up := adaptertest.Upstream(adaptertest.Serve(t, unreadable{a, respond}).URL)
			up.Limits.Event = limit
			b, err := backend.Dial(up)
			if err != nil {
				t.Fatal(err)
			}
			tr := adaptertest.Collect(t.Context(), b, saying("say"), 0)
			switch {
			case a.Work() != 1:
				t.Errorf("%s: %d messages", name, a.Work())
			case v.Version == "0.3" && (tr.Code() != mapping.CodeOutcomeUnknown || strings.Contains(tr.Err.Error(), "lost")):
				t.Errorf("%s, without a list: %v", name, tr.Err)
			case v.Version != "0.3" && (tr.Err != nil || len(tr.Outputs()) != 3):
				t.Errorf("%s: %d outputs, %v", name, len(tr.Outputs()), tr.Err)
			}
		}
	}
}

// An event over the limit in the stream of a known task is not the end of the task.
func TestATooLongEventIsNotTheEndOfItsTask(t *testing.T) {
	t.Parallel()
	const limit = 20_000
	long := event{"statusUpdate": event{"taskId": "task-1", "status": event{"state": "TASK_STATE_WORKING", "metadata": strings.Repeat("x", limit)}}}
	a := loose{&adaptertest.A2AAgent{}, func(events []event) []event { return slices.Insert(events, 2, long) }}
	up := adaptertest.Upstream(adaptertest.Serve(t, a).URL)
	up.Limits.Event = limit
	b, err := backend.Dial(up)
	if err != nil {
		t.Fatal(err)
	}
	if tr := adaptertest.Collect(t.Context(), b, saying("say"), 0); tr.Err != nil || len(tr.Outputs()) != 3 || a.Work() != 1 {
		t.Errorf("%d outputs, %d messages, %v", len(tr.Outputs()), a.Work(), tr.Err)
	}
}

// step_timeout also limits the time until a response to a message begins.
func TestAMessageWithoutResponseEndsAtStepTimeout(t *testing.T) {
	t.Parallel()
	for _, v := range []*adaptertest.A2AAgent{{}, {NoStream: true}, {HTTP: true}, {Version: "0.3"}} {
		gone := make(chan struct{})
		a := v.New()
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost && strings.Contains(r.Header.Get("Accept"), "event-stream") != v.NoStream && r.ContentLength > 100 {
				_, _ = io.Copy(io.Discard, r.Body) // otherwise the end of the connection is not noticed
				<-r.Context().Done()
				close(gone)
				return
			}
			a.ServeHTTP(w, r)
		}))
		t.Cleanup(server.Close)
		up := adaptertest.Upstream(server.URL)
		up.Config.StepTimeout = 300 * time.Millisecond
		b, err := backend.Dial(up)
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithTimeout(t.Context(), adaptertest.Patience)
		defer stop()
		tr := adaptertest.Collect(ctx, b, saying("say"), 0)
		if tr.Code() != mapping.CodeStepTimeout || !strings.Contains(tr.Err.Error(), "step_timeout (300ms)") {
			t.Errorf("%+v: %v", v, tr.Err)
		}
		select {
		case <-gone:
		case <-time.After(adaptertest.Patience):
			t.Fatal("the request was not ended")
		}
	}
}

// said is a message event of an agent.
func said(task, text string) event {
	m := event{"messageId": "m-" + text, "role": "ROLE_AGENT", "parts": []any{event{"text": text}}}
	if task != "" {
		m["taskId"] = task
	}
	return event{"message": m}
}

// A message of a task that the agent has shown reports progress. Without a task, it is the answer.
func TestAMessageOfARunningTaskIsProgress(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rewrite func([]event) []event
		want    []string
	}{
		"progress":   {func(events []event) []event { return slices.Insert(events, 2, said("task-1", "half")) }, []string{"first", "second", "third"}},
		"the answer": {func([]event) []event { return []event{said("", "all")} }, []string{"all"}},
		// Some agents name tasks in their answers that they never created.
		"the answer of an unknown task": {func([]event) []event { return []event{said("task-7", "all")} }, []string{"all"}},
		"no artifact and no other text": {func(events []event) []event {
			return append(events[:2], said("task-1", "all"), status("COMPLETED", nil))
		}, []string{"all"}},
	} {
		tr := adaptertest.Collect(t.Context(), dial(t, loose{&adaptertest.A2AAgent{}, c.rewrite}), saying("say"), 0)
		reports := 0
		for _, ev := range tr.Events {
			if ev.Kind == mapping.KindCustom && strings.Contains(string(ev.Data), "half") {
				reports++
			}
		}
		if got := texts(tr); tr.Err != nil || !slices.Equal(got, c.want) || (reports == 1) != (name == "progress") {
			t.Errorf("%s: steps %q, %d reports, %v", name, got, reports, tr.Err)
		}
	}
}
