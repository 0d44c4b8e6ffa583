package fault

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
)

// Canaries are marks that must not appear in certain places.
const (
	canaryHeader  = "canary-header-5ef1"  // a credential for the agent
	canaryPrompt  = "canary-prompt-0c9d"  // what a person said
	canaryAnswer  = "canary-answer-77ab"  // what an agent said
	canaryBroken  = "canary-broken-31fe"  // what a failing agent said
	canaryItem    = "canary-item-b2b2"    // in the store
	canaryFile    = "canary-file-9a4e"    // in an artifact
	canaryQuery   = "canary-query-6d10"   // in a URL's query
	canaryHook    = "canary-hook-sign-44" // signs webhooks
	canaryCookie  = "canary-cookie-e5e5"
	canaryWrong   = "canary-wrong-key-8c8c" // an invalid key
	canaryPrivate = "canary-key-0123456789" // a key
)

var canaries = []string{
	canaryHeader, canaryPrompt, canaryAnswer, canaryBroken, canaryItem, canaryFile, canaryQuery, canaryHook, canaryCookie, canaryWrong, canaryPrivate,
}

// credentials must not even be visible to their owners.
var credentials = []string{canaryHeader, canaryHook, canaryPrivate, canaryWrong, canaryCookie}

// blabbing is an agent that fails every call and repeats the request in its response.
func blabbing(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	w.Header().Set("Content-Type", "application/json")
	if r.Method == http.MethodGet {
		_, _ = io.WriteString(w, `{"tasks":[],"pagination":{"total_items":0,"total_pages":0,"current_page":1,"page_size":10}}`)
		return
	}
	w.WriteHeader(http.StatusInternalServerError)
	_, _ = fmt.Fprintf(w, `{"message":%q}`, canaryBroken+" "+r.Header.Get("Authorization")+" "+string(body))
}

func TestPrivateTextsDoNotLeak(t *testing.T) {
	t.Parallel()
	said := `"` + canaryAnswer + `"`
	r := rig.Configured(t, `
default_agent: good
auth: {keys: [{id: alice, key: 'env:KEY'}]}
webhooks: {secret: 'env:HOOK', allow_private_networks: true}
agents:
  good: {url: $GOOD, headers: {Authorization: 'env:HEADER'}, passthrough: true}
  bad: {url: $BAD, dialect: taskstep, headers: {Authorization: 'env:HEADER'}, passthrough: true, retries: 1}
  fault: {url: $FAULT, headers: {Authorization: 'env:HEADER'}}
  graph: {url: $GRAPH, headers: {Authorization: 'env:HEADER'}}
  away: {url: 'http://127.0.0.1:1', dialect: taskstep, headers: {Authorization: 'env:HEADER'}, passthrough: true}
`, map[string]http.Handler{
		"good": &adaptertest.StepAgent{Kind: adaptertest.Plain, Script: []adaptertest.ScriptStep{
			{Output: said, Files: [][2]string{{"f.txt", canaryFile}}}, {Output: said, Last: true, Repeat: true},
		}},
		"bad":   http.HandlerFunc(blabbing),
		"fault": &adaptertest.StepAgent{Kind: adaptertest.Plain, Script: []adaptertest.ScriptStep{{Fault: adaptertest.Unauthorized}}},
		"graph": &adaptertest.ThreadAgent{Plays: []adaptertest.ThreadPlay{adaptertest.FailPlay()}},
	}, "KEY="+canaryPrivate, "HOOK="+canaryHook, "HEADER=Bearer "+canaryHeader)
	var answers []rig.Answer
	ask := func(method, path, body string, headers ...string) rig.Answer {
		got := r.Do(method, path, body, append([]string{"X-Api-Key", canaryPrivate, "Cookie", "c=" + canaryCookie}, headers...)...)
		answers = append(answers, got)
		return got
	}
	everything(t, r, ask)
	for _, a := range answers {
		for _, c := range credentials {
			if strings.Contains(a.String(), c) || strings.Contains(fmt.Sprint(a.Header), c) {
				t.Errorf("a credential (%s) is in a response: %d %s", c, a.Status, a.String())
			}
		}
		for _, c := range canaries {
			if a.Status >= 400 && strings.Contains(a.String(), c) {
				t.Errorf("%s is in a refusal: %d %s", c, a.Status, a.String())
			}
		}
	}
	logs := r.LogText()
	metrics := ask("GET", "/metrics", "").Want(t, 200, "apbridge_requests_total").String()
	for _, c := range canaries {
		if line := rig.LineWith(logs, c); line != "" {
			t.Errorf("%s is in the log: %s", c, line)
		}
		if strings.Contains(metrics, c) {
			t.Errorf("%s is in the metrics", c)
		}
	}
	if len(logs) < 1000 || !strings.Contains(logs, "request refused") {
		t.Errorf("the log has no debug lines:\n%s", logs)
	}
}

// everything sends valid and failing requests in both dialects.
func everything(t *testing.T, r *rig.Bridge, ask func(method, path, body string, headers ...string) rig.Answer) {
	prompt := `{"input":"` + canaryPrompt + `"`
	ask("POST", "/runs/wait?q="+canaryQuery, prompt+"}").Want(t, 200, canaryAnswer)
	ask("POST", "/runs/stream", prompt+`,"assistant_id":"good","webhook":"http://127.0.0.1:1/`+canaryQuery+`"}`).Want(t, 200)
	for _, agent := range []string{"bad", "fault", "graph", "away"} {
		ask("POST", "/runs/wait", prompt+`,"assistant_id":"`+agent+`","input":{"messages":[{"type":"human","content":"`+canaryPrompt+`"}]}}`)
		ask("POST", "/runs/wait", prompt+`,"agent_id":"`+agent+`"}`).Want(t, 200, `"status":"error"`)
		task := ask("POST", "/agents/"+agent+"/ap/v1/agent/tasks", prompt+"}").Want(t, 200).Member("task_id")
		ask("POST", "/agents/"+agent+"/ap/v1/agent/tasks/"+task+"/steps", "").Want(t, 200)
	}
	task := ask("POST", "/ap/v1/agent/tasks", prompt+"}").Member("task_id")
	ask("POST", "/ap/v1/agent/tasks/"+task+"/steps", "").Want(t, 200, canaryAnswer)
	ask("PUT", "/store/items", `{"namespace":["n"],"key":"k","value":{"v":"`+canaryItem+`"}}`).Want(t, 204)
	ask("POST", "/store/items/search", `{"namespace_prefix":["n"],"query":"`+canaryItem+`"}`).Want(t, 200)
	for _, refused := range []struct{ method, path, body string }{
		{"POST", "/runs/wait", `{"input":"` + canaryPrompt},                                      // half a document
		{"POST", "/runs/wait", `["` + canaryPrompt + `"]`},                                       // not an object
		{"POST", "/runs/wait", `{"input":7,"metadata":"` + canaryPrompt + `"}`},                  // a wrong type
		{"POST", "/runs/wait", `{"messages":"` + canaryPrompt + `"}`},                            //
		{"POST", "/runs/wait", prompt + `,"after_seconds":"` + canaryPrompt + `"}`},              //
		{"POST", "/runs/wait", prompt + `,"command":{"goto":"` + canaryPrompt + `"}}`},           // not supported
		{"POST", "/runs/wait", prompt + `,"webhook":"` + canaryPrompt + `"}`},                    //
		{"POST", "/threads", `{"metadata":{"a":"` + canaryPrompt + `","a":1}}`},                  // a key twice
		{"POST", "/ap/v1/agent/tasks", `{"input":["` + canaryPrompt + `"]}`},                     //
		{"POST", "/ap/v1/agent/tasks", `{"input":"` + canaryPrompt + "\x00\xff"},                 // not UTF-8
		{"POST", "/store/items/search", `{"filter":{"a":{"$foo":"` + canaryItem + `"}}}`},        //
		{"PUT", "/store/items", `{"namespace":[],"key":"k","value":{"v":"` + canaryItem + `"}}`}, //
		{"GET", "/nowhere?q=" + canaryQuery, ""},
		{"GET", "/agents/bad/upstream/nowhere?q=" + canaryQuery, ""},
		{"GET", "/agents/away/upstream/x?q=" + canaryQuery, ""},
	} {
		ask(refused.method, refused.path, refused.body)
	}
	r.Do("GET", "/info", "", "X-Api-Key", canaryWrong).Want(t, 401)
	r.Do("GET", "/info", "", "Authorization", "Bearer "+canaryWrong, "X-Api-Key", canaryPrivate).Want(t, 200)
}
