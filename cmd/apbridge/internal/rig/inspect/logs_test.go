package inspect

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/examples/legacyagent"
)

// Texts of the bridge's clients, its agents and the inspector's users, by place.
var unlogged = map[string]string{
	"credential":   "canary-credential-5ef1",
	"prompt":       "canary-prompt-0c9d",
	"answered":     "canary-answered-77ab", // by an agent
	"failed":       "canary-failed-31fe",
	"header":       "canary-header-9a4e", // kept with a call
	"cookie":       "canary-cookie-e5e5",
	"decision":     "canary-decision-44d1", // an answer to a question
	"another":      "canary-another-b2b2",  // input of a repeated run
	"words":        "canary-words-8c8c",    // from which a thread continues
	"message":      "canary-message-6d10",  // of the page of agents
	"search":       "canary-search-1f1f",
	"unknown word": "canary-unknown-2e2e",
}

// marking adds marks to all responses of an agent. If fails is set, a step fails with its input as the error.
func marking(agent http.Handler, fails bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Server", unlogged["header"])
		w.Header().Set("Set-Cookie", "session="+unlogged["cookie"])
		if !fails || !rig.StepPosts(r) {
			agent.ServeHTTP(w, r)
			return
		}
		body, _ := io.ReadAll(r.Body)
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = fmt.Fprintf(w, `{"detail":%q}`, unlogged["failed"]+" "+r.Header.Get("Authorization")+" "+string(body))
	})
}

// TestLogsContainNoCallsOfAgents checks that the inspector keeps calls to agents, without credentials, and that
// the access, debug and audit logs do not contain them. The logs name each action of a page with its key, but not its content.
func TestLogsContainNoCallsOfAgents(t *testing.T) {
	t.Parallel()
	audit := filepath.Join(t.TempDir(), "audit.log")
	answering := &adaptertest.StepAgent{Kind: adaptertest.Plain, Script: []adaptertest.ScriptStep{{Output: `"` + unlogged["answered"] + `"`, Last: true, Repeat: true}}}
	gate := rig.NewGate(legacyagent.Handler(), rig.StepPosts, 1)
	b := rig.Configured(t, "inspector: {capture: all}\nlog: {level: debug}\naudit: {file: "+audit+`}
default_agent: says
auth: {keys: [{id: ann, key: 0123456789abcdef0123456789abcdef}, {id: bob, key: 1123456789abcdef0123456789abcdef}]}
agents:
  says: {url: $SAYS, dialect: taskstep, headers: {Authorization: 'env:HEADER'}}
  fails: {url: $FAILS, dialect: taskstep, headers: {Authorization: 'env:HEADER'}}
  asks: {url: $QUESTIONS, dialect: threadrun, headers: {Authorization: 'env:HEADER'}}
  waits: {url: $WAITS, dialect: taskstep, headers: {Authorization: 'env:HEADER'}}`, map[string]http.Handler{
		"says": marking(answering, false), "fails": marking(legacyagent.Handler(), true),
		"questions": marking(rig.Asking(adaptertest.ChatPlay()), false), "waits": marking(gate, false),
	}, "HEADER=Bearer "+unlogged["credential"])
	defer gate.Open()

	on := map[string]string{} // the thread with a run of each agent
	runs := map[string]string{}
	for _, agent := range []string{"says", "fails", "asks", "waits"} {
		on[agent] = "/threads/" + b.Do("POST", "/threads", "{}", ann...).OK().Text("thread_id")
		runs[agent] = b.Do("POST", on[agent]+"/runs", `{"assistant_id":"`+agent+`","input":{"messages":[{"role":"user","content":"`+unlogged["prompt"]+`"}]}}`, ann...).OK().Text("run_id")
		if agent != "waits" {
			b.Do("GET", on[agent]+"/runs/"+runs[agent]+"/join", "", ann...)
		}
	}
	gate.Await(t)
	checkCalls(t, b, runs)
	for _, path := range []string{"", "?text=" + unlogged["search"], "?nothing=" + unlogged["unknown word"], "/agents", on["says"], on["asks"], "/runs/" + runs["says"] + "/again", "/runs/" + runs["waits"]} {
		b.Do("GET", "/inspect"+path, "", append(ann, asBrowser...)...)
	}

	head := b.Do("GET", "/inspect"+on["says"], "", bob...).OK().Text("head")
	acts := []struct {
		path, route, operation string
		in                     url.Values
	}{
		{on["asks"] + "/answer", "/threads/{thread_id}/answer", "answered", url.Values{"question": {asked}, "json": {`{"decisions":[{"type":"reject","message":"` + unlogged["decision"] + `"}]}`}}},
		{"/runs/" + runs["waits"] + "/cancel", "/runs/{run_id}/cancel", "cancelled", nil},
		{"/runs/" + runs["says"] + "/again", "/runs/{run_id}/again", "created", url.Values{"where": {"new"}, "input": {`{"messages":[{"role":"user","content":"` + unlogged["another"] + `"}]}`}}},
		{on["says"] + "/fork", "/threads/{thread_id}/fork", "created", url.Values{"checkpoint": {head}, "agent": {"says"}, "says": {unlogged["words"]}}},
		{"/agents/fails/try", "/agents/{agent}/try", "created", url.Values{"text": {unlogged["message"]}}},
	}
	for _, act := range acts {
		submit(t, b, "/inspect"+act.path, confirmation(t, b, "/inspect"+act.path, act.in, bob...), bob...).Want(t, 303)
	}
	rig.Eventually(t, "all runs have ended", func() bool {
		return !rig.Says(b.Do("GET", "/inspect", "", ann...).OK().String(), `"status":"running"`) && !rig.Says(b.Do("GET", "/inspect", "", ann...).String(), `"status":"pending"`)
	})
	b.End()

	done, err := os.ReadFile(audit)
	if err != nil {
		t.Fatal(err)
	}
	log := b.LogText()
	for _, act := range acts {
		if !hasLine(string(done), `"operation":"`+act.operation+`"`, `"outcome":"done"`, `"status":303`, `"key":"bob"`, `"route":"/inspect`+act.route+`"`) {
			t.Errorf("no line in the audit log of %s", act.route)
		}
		if !hasLine(log, `"msg":"request"`, `"method":"POST"`, `"status":303`, `"key":"bob"`, `"route":"/inspect`+act.route+`"`) {
			t.Errorf("no line in the access log of %s", act.route)
		}
	}
	for what, mark := range unlogged {
		for name, text := range map[string]string{"bridge's": log, "audit": string(done)} {
			if line := rig.LineWith(text, mark); line != "" {
				t.Errorf("the %s log contains the %s: %s", name, what, line)
			}
		}
	}
	if !strings.Contains(log, `"level":"debug"`) {
		t.Errorf("the log has no debug lines:\n%s", log)
	}
}

// checkCalls checks that the calls shown by the inspector contain the marks, but no credentials.
func checkCalls(t *testing.T, b *rig.Bridge, runs map[string]string) {
	t.Helper()
	for agent, want := range map[string]string{"says": unlogged["answered"], "fails": unlogged["failed"], "waits": ""} {
		at := "/inspect/runs/" + runs[agent]
		kept := ""
		for _, c := range b.Do("GET", at, "", ann...).OK().List("calls") {
			kept += b.Do("GET", fmt.Sprintf("%s/calls/%.0f", at, rig.Dig(c, "n")), "", ann...).OK().String()
		}
		if !rig.Says(kept, unlogged["prompt"], unlogged["header"], `"Authorization"`, want) {
			t.Errorf("%s: the calls lack a mark: %s", agent, kept)
		}
		if agent == "fails" && !rig.Says(kept, "[hidden]") || strings.Contains(kept, unlogged["credential"]) || strings.Contains(kept, unlogged["cookie"]) {
			t.Errorf("%s: the calls contain a credential: %s", agent, kept)
		}
	}
}

// hasLine reports whether a line of a text contains all the parts.
func hasLine(text string, parts ...string) bool {
	for line := range strings.SplitSeq(text, "\n") {
		if rig.Says(line, parts...) {
			return true
		}
	}
	return false
}
