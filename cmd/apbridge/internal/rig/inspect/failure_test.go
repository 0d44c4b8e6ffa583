package inspect

import (
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/examples/legacyagent"
)

// providerKey is a key that agents repeat when they call a model with a wrong key.
const providerKey = "sk-proj-abcdEFGH0123456789canary"

// TestFailuresHideTheProvidersKey checks that an agent's error is shown without the key in it: to clients of both
// dialects, in the webhook, in the inspector with its calls and exports, and in the log.
func TestFailuresHideTheProvidersKey(t *testing.T) {
	t.Parallel()
	said := "Incorrect API key provided: " + providerKey
	play := adaptertest.FailPlay()
	for i := range play.Frames {
		play.Frames[i] = strings.ReplaceAll(play.Frames[i], "the agent failed on purpose", said)
	}
	play.Frames = append(play.Frames[:len(play.Frames)-1],
		`tasks {"id":"1","name":"break","error":"AuthenticationError: `+said+`","result":[],"interrupts":[]}`,
		`debug {"type":"task_result","payload":{"id":"1","name":"break","error":"`+said+`","result":[]}}`, play.Frames[len(play.Frames)-1])
	play.State = strings.ReplaceAll(play.State, "the agent failed on purpose", said)
	legacy := legacyagent.Handler()
	refusing := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/steps") {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = io.WriteString(w, `{"detail":"`+said+`"}`)
			return
		}
		legacy.ServeHTTP(w, r)
	})
	for kind, agent := range map[string]http.Handler{"taskstep": refusing, "threadrun": &adaptertest.ThreadAgent{Plays: []adaptertest.ThreadPlay{play}}} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			hooked := make(chan string, 1)
			hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				hooked <- string(body)
			}))
			t.Cleanup(hook.Close)
			b := rig.Configured(t, "log: {level: debug}\nwebhooks: {allow_private_networks: true}\nagents:\n  a: {url: $A, retries: 1, assistant: agent, dialect: "+kind+"}", map[string]http.Handler{"a": agent})
			thread := b.Do("POST", "/threads", "{}").OK().Text("thread_id")
			at := "/threads/" + thread + "/runs"
			seen := map[string]string{}
			seen["wait"] = b.Do("POST", at+"/wait", `{"assistant_id":"a","input":{"messages":[{"role":"user","content":"hi"}]},"webhook":"`+hook.URL+`"}`).String()
			select {
			case seen["webhook"] = <-hooked:
			case <-time.After(time.Minute):
				t.Fatal("no webhook arrived")
			}
			run := newestRun(b)
			seen["stream"] = b.Do("POST", at+"/stream", `{"assistant_id":"a","input":{"messages":[{"role":"user","content":"hi"}]},"stream_mode":["values","tasks","debug"]}`).String()
			task := b.Do("POST", "/agents/a/ap/v1/agent/tasks", `{"input":"hi"}`).OK().Text("task_id")
			for range 3 {
				seen["steps"] += b.Do("POST", "/agents/a/ap/v1/agent/tasks/"+task+"/steps", "{}").String()
			}
			for name, path := range map[string]string{
				"run": at + "/" + run, "state": "/threads/" + thread + "/state", "thread": "/threads/" + thread, "inspector": "/inspect/runs/" + run,
				"call": "/inspect/runs/" + run + "/calls/2", "ndjson": "/inspect/runs/" + run + "/export/ndjson", "har": "/inspect/runs/" + run + "/export/har",
			} {
				seen[name] = b.Get(path).OK().String()
			}
			for _, name := range []string{"wait", "webhook", "stream", "steps", "run", "inspector", "ndjson", "har"} {
				if !strings.Contains(seen[name], "Incorrect API key provided: [hidden]") {
					t.Errorf("%s does not say why the run failed: %s", name, seen[name])
				}
			}
			seen["log"] = b.LogText()
			for name, text := range seen {
				if strings.Contains(text, "canary") {
					t.Errorf("%s shows the key: %s", name, text)
				}
			}
		})
	}
}

// TestRunPageSaysTheCauseTwice checks that the cause of a failure is in the sentence at the top and in the conversation,
// where it happened, but nowhere else above the log unless something is unfolded.
func TestRunPageSaysTheCauseTwice(t *testing.T) {
	t.Parallel()
	folded := regexp.MustCompile(`(?s)<details.*?</details>`)
	for kind, c := range map[string]struct {
		agent http.Handler
		cause string
	}{
		"taskstep":  {legacyagent.Handler(), "the disk is full"},
		"threadrun": {&adaptertest.ThreadAgent{Plays: []adaptertest.ThreadPlay{adaptertest.FailPlay()}}, "the agent failed on purpose"},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			b := rig.Configured(t, "agents: {a: {url: $A, dialect: "+kind+"}}", map[string]http.Handler{"a": c.agent})
			b.Wait("then fail")
			page, _, _ := strings.Cut(show(t, b, "/inspect/runs/"+newestRun(b)).String(), `id="axis"`)
			if _, page, _ = strings.Cut(page, "<main"); strings.Count(folded.ReplaceAllString(page, ""), c.cause) != 2 {
				t.Errorf("%s", page)
			}
			inOrder(t, page, "Failed", c.cause, "Conversation</h2>", "bridge · the run failed", c.cause)
		})
	}
}
