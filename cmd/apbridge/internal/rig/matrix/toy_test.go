package matrix

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/adapter/adaptertest/toy"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/bridge"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/google/go-cmp/cmp"
)

func withToy() adapter.Dialects { return append(bridge.Dialects(), toy.Dialect()) }

// inFrontSpeaking starts a bridge with these dialects for one agent, whose dialect is detected.
func inFrontSpeaking(t *testing.T, dialects adapter.Dialects, peer adaptertest.Peer) *rig.Bridge {
	t.Helper()
	agents := map[string]config.Agent{"agent": rig.AgentAt(adaptertest.Serve(t, peer).URL)}
	return rig.StartSpeaking(t, rig.ConfigFor(t, agents), dialects)
}

// TestFurtherDialectIsKnownEverywhere checks that guards, pages, service and loss table have the toy's data from its
// folder.
func TestFurtherDialectIsKnownEverywhere(t *testing.T) {
	t.Parallel()
	b := inFrontSpeaking(t, withToy(), &toy.Agent{Says: []string{"one"}, Ends: "! \"out of order\"\n"})
	b.Get("/toy/x//y").Want(t, 400, `{"toy":"`)
	b.Get("/toy/other").Want(t, 404, `! "The toy serves`)
	b.Get("/toy").Want(t, 200, "toy\n")
	b.Do("POST", "/toy/say", "hi").Want(t, 200, "- \"one\"\n", "! ", "out of order")

	b.Do("GET", "/", "", "Accept", "text/html").Want(t, 200, "words (the toy), or threads and runs")
	b.Do("GET", "/docs", "", "Accept", "text/html").Want(t, 200, `<figure id="curl-toy">`, b.URL+"/toy/say --data-raw hi")

	run := `{"assistant_id":"agent","context":{"a":1},"config":{"tags":["x"]},"durability":"sync",` + rig.SaysHi + `}`
	if lossy := b.Post("/runs/wait", run).OK().Header.Get("X-Apbridge-Unsupported"); lossy != "input;approximated, config;dropped, context;dropped, durability;dropped" {
		t.Errorf("X-Apbridge-Unsupported is %q", lossy)
	}
	goes := `{"assistant_id":"agent","command":{"goto":"x"}}`
	b.Post("/threads/"+b.Post("/threads", `{}`).OK().Text("thread_id")+"/runs/wait", goes).Want(t, 422, "not supported by a toy")
}

// TestPublicPathsWithAVariable checks that a face answers callers without a key on its public paths only, not next to
// or below them.
func TestPublicPathsWithAVariable(t *testing.T) {
	t.Parallel()
	const key = "a-key-of-this-test-which-is-long"
	cfg := rig.ConfigFor(t, map[string]config.Agent{"agent": rig.AgentAt(adaptertest.Serve(t, &toy.Agent{Says: []string{"one"}}).URL)})
	cfg.Auth.Keys = []config.Key{{ID: "alice", Key: key}}
	b := rig.StartSpeaking(t, cfg, withToy())
	b.Do("GET", "/toys/agent/card", "", "X-Api-Key", "").Want(t, 200, "agent\n")
	b.Do("GET", "/toys/other/card", "", "X-Api-Key", "").Want(t, 404, `! "There is no toy`)
	for _, path := range []string{"/toys/agent", "/toys/agent/", "/toys/agent/card/", "/toys/agent/card/x", "/toys/card", "/toys/a/b/card"} {
		b.Do("GET", path, "", "X-Api-Key", "").Is(401)
	}
	b.Do("POST", "/toys/agent/say", "hi", "X-Api-Key", "").Want(t, 401, `{"toy":"`)
	b.Do("POST", "/toys/agent/say", "hi", "X-Api-Key", key).Want(t, 200, "- \"one\"\n.\n")
}

// TestFurtherDialectReportsLosses checks that the toy's clients receive losses found by the bridge under the names of
// capabilities, as others do under those of their fields, whatever the agent's dialect.
func TestFurtherDialectReportsLosses(t *testing.T) {
	t.Parallel()
	end := map[string]string{"taskstep": "memory.items;approximated, transcript;approximated", "toy": "memory.items;approximated"}
	cut := map[string]string{"taskstep": "transcript;approximated", "toy": ""} // a toy remembers the conversation
	for dialect, peer := range map[string]adaptertest.Peer{
		"taskstep": &adaptertest.StepAgent{Kind: adaptertest.JS, Choose: func(string, map[string]string) []adaptertest.ScriptStep {
			return []adaptertest.ScriptStep{{Output: `"Tea."`, Last: true}}
		}},
		"toy": &toy.Agent{Says: []string{"Tea."}},
	} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			short := func(a *config.Agent) { a.Memory.MaxBytes, a.Memory.Namespaces = 300, []string{"shared"} }
			agents := map[string]config.Agent{"agent": rig.AgentAt(adaptertest.Serve(t, peer).URL, short)}
			b := rig.StartSpeaking(t, rig.ConfigFor(t, agents), withToy())
			long := strings.Repeat("x", 250)
			first := b.Do("POST", "/toy/say", long)
			if lossy := first.Want(t, 200, ".\n").Header.Get("X-Apbridge-Unsupported"); lossy != "" {
				t.Errorf("for a supported request X-Apbridge-Unsupported is %q", lossy)
			}
			talk := first.Header.Get("Toy-Talk")
			if lossy := b.Do("POST", "/toy/say", "more", "Toy-Talk", talk).Want(t, 200, ".\n").Header.Get("X-Apbridge-Unsupported"); lossy != cut[dialect] {
				t.Errorf("for a conversation that is too long X-Apbridge-Unsupported is %q", lossy)
			}
			b.Do("PUT", "/store/items", `{"namespace":["shared"],"key":"k","value":{"text":"`+long+`"}}`).Want(t, 204)
			if lossy := b.Do("POST", "/toy/say", long).Want(t, 200, ".\n").Header.Get("X-Apbridge-Unsupported"); lossy != "items;approximated" {
				t.Errorf("for items that do not fit X-Apbridge-Unsupported is %q", lossy)
			}
			run := `{"assistant_id":"agent",` + rig.SaysHi + `}`
			if lossy := b.Post("/threads/"+talk+"/runs/wait", run).OK().Header.Get("X-Apbridge-Unsupported"); !strings.HasSuffix(lossy, end[dialect]) {
				t.Errorf("for a run on the same thread X-Apbridge-Unsupported is %q", lossy)
			}
		})
	}
}

// TestAgentWithHistoryReceivesOnlyNewMessages checks that an agent that exposes its history receives only the new
// messages of a conversation, and all of it again after a run of another agent.
func TestAgentWithHistoryReceivesOnlyNewMessages(t *testing.T) {
	t.Parallel()
	agent := &toy.Agent{Says: []string{"one"}}
	agents := map[string]config.Agent{
		"agent": rig.AgentAt(adaptertest.Serve(t, agent).URL), "other": rig.AgentAt(adaptertest.Serve(t, &toy.Agent{Says: []string{"two"}}).URL),
	}
	b := rig.StartSpeaking(t, rig.ConfigFor(t, agents), withToy())
	talk := b.Do("POST", "/toys/agent/say", "alpha").Want(t, 200, ".\n").Header.Get("Toy-Talk")
	b.Do("POST", "/toys/agent/say", "beta", "Toy-Talk", talk).Want(t, 200, ".\n")
	b.Do("POST", "/toys/other/say", "gamma", "Toy-Talk", talk).Want(t, 200, ".\n")
	b.Do("POST", "/toys/agent/say", "delta", "Toy-Talk", talk).Want(t, 200, ".\n")
	talks := agent.Talks()
	var kept, anew []string
	for _, said := range talks {
		if len(said) == 2 {
			kept = said
		} else {
			anew = said
		}
	}
	if len(talks) != 2 || len(kept) != 2 || kept[0] != "alpha" || kept[1] != "beta" {
		t.Fatalf("the agent received %q", talks)
	}
	if len(anew) != 1 || !rig.Says(anew[0], "alpha", "beta", "gamma", "delta") {
		t.Errorf("after another agent's run the agent received %q", anew)
	}
}

// TestFurtherDialectWritesItsWebhooks checks that the webhook of a run has the toy's format.
func TestFurtherDialectWritesItsWebhooks(t *testing.T) {
	t.Parallel()
	told := make(chan string, 1)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		told <- string(body)
	}))
	t.Cleanup(receiver.Close)
	cfg := rig.ConfigFor(t, map[string]config.Agent{"agent": rig.AgentAt(adaptertest.Serve(t, &toy.Agent{Says: []string{"one"}}).URL)})
	cfg.Webhooks.AllowPrivateNetworks = true
	b := rig.StartSpeaking(t, cfg, withToy())
	said := b.Do("POST", "/toy/say", "hi", "Toy-Hook", receiver.URL).Want(t, 200, "- \"one\"\n")
	select {
	case got := <-told:
		if want := `"` + said.Header.Get("Toy-Talk") + ` success"`; got != want {
			t.Errorf("the webhook received %s, want %s", got, want)
		}
	case <-time.After(time.Minute):
		t.Error("no webhook arrived")
	}
}

// TestThreadsNamedByClients checks that the same name of a caller for an agent means the same thread, also for
// concurrent requests.
func TestThreadsNamedByClients(t *testing.T) {
	t.Parallel()
	agents := map[string]config.Agent{}
	for _, name := range []string{"agent", "other"} {
		agents[name] = rig.AgentAt(adaptertest.Serve(t, &toy.Agent{Says: []string{"one"}}).URL)
	}
	cfg := rig.ConfigFor(t, agents)
	const alice, bob = "a-key-of-alice-which-is-long", "a-key-of-bob-which-is-long-too"
	cfg.Auth.Keys = []config.Key{{ID: "alice", Key: alice}, {ID: "bob", Key: bob}}
	b := rig.StartSpeaking(t, cfg, withToy())
	talks := make(chan string, 4)
	for range cap(talks) {
		go func() {
			talks <- b.Do("POST", "/toys/agent/say", "hi", "Toy-Name", "my trip/é", "X-Api-Key", alice).Header.Get("Toy-Talk")
		}()
	}
	talk := <-talks
	for range cap(talks) - 1 {
		if other := <-talks; other != talk || talk == "" {
			t.Errorf("one name is used for the threads %q and %q", talk, other)
		}
	}
	for _, c := range []struct{ agent, key, name string }{{"other", alice, "my trip/é"}, {"agent", bob, "my trip/é"}, {"agent", alice, "my trip"}} {
		if got := b.Do("POST", "/toys/"+c.agent+"/say", "hi", "Toy-Name", c.name, "X-Api-Key", c.key).OK().Header.Get("Toy-Talk"); got == talk || got == "" {
			t.Errorf("%v is on thread %q", c, got)
		}
	}
	b.Do("POST", "/toys/agent/say", "hi", "Toy-Name", strings.Repeat("x", 256), "X-Api-Key", alice).Want(t, 422, "1 to 255")
	b.Do("POST", "/toys/agent/say", "hi", "Toy-Name", "x", "Toy-Talk", talk, "X-Api-Key", alice).Want(t, 422, "not by both")
}

// TestHooksOfATask checks that the hooks of a task receive its statuses in the toy's format and in order, and that a
// hook is added, listed without its token and removed while the task waits.
func TestHooksOfATask(t *testing.T) {
	t.Parallel()
	told := make(chan string, 16)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		told <- r.URL.Path + " " + r.Header.Get("Toy-Token") + " " + string(body)
	}))
	t.Cleanup(receiver.Close)
	cfg := rig.ConfigFor(t, map[string]config.Agent{"agent": rig.AgentAt(adaptertest.Serve(t, &toy.Agent{Says: []string{"Friday it is."}, Asks: "Which day?"}).URL)})
	cfg.Webhooks.AllowPrivateNetworks = true
	b := rig.StartSpeaking(t, cfg, withToy())
	asked := b.Do("POST", "/toy/say", "book it", "Toy-Notify", "all "+receiver.URL+"/all s1 submitted working asking done", "Toy-Hook", receiver.URL+"/end").Want(t, 200, "?\n")
	task, talk := asked.Header.Get("Toy-Task"), asked.Header.Get("Toy-Talk")
	hooks := "/toys/agent/hooks/" + task
	b.Do("POST", hooks, "asks "+receiver.URL+"/asks s2 asking").OK()
	b.Do("POST", hooks, "gone "+receiver.URL+"/gone s3 done").OK()
	b.Get(hooks).Want(t, 200, "all "+receiver.URL+"/all  [submitted working asking done]\nasks "+receiver.URL+"/asks  [asking]\ngone ")
	for range 2 {
		b.Do("DELETE", hooks+"/gone", "").OK()
	}
	// Clients of another dialect neither see nor change these hooks, even with the same ids.
	configs := "/a2a/agent/tasks/" + task + "/pushNotificationConfigs"
	before := string(b.Get(hooks).Body)
	b.Post(configs, `{"id":"all","url":"`+receiver.URL+`/of-a2a"}`).OK()
	if list := b.Get(configs).List("configs"); len(list) != 1 || rig.Dig(list[0], "url") != receiver.URL+"/of-a2a" {
		t.Errorf("A2A has the configurations %v", list)
	}
	b.Get(configs+"/asks").Want(t, 404, "TASK_NOT_FOUND")
	for _, id := range []string{"all", "asks"} {
		b.Do("DELETE", configs+"/"+id, "").OK()
	}
	if after := string(b.Get(hooks).Body); after != before || len(b.Get(configs).List("configs")) != 0 {
		t.Errorf("the hooks were %q, and are %q", before, after)
	}
	b.Do("POST", hooks, "x "+receiver.URL+" s never").Want(t, 422, "There is no task status")
	b.Do("POST", hooks, "x ftp://x s done").Want(t, 422, "hook.url: must be an http or https URL")
	b.Do("POST", "/toys/agent/hooks/unknown", "x "+receiver.URL+" s done").Want(t, 404, "no task")
	b.Do("POST", "/toy/say", "Friday", "Toy-Task", task).Want(t, 200, ".\n")
	got := map[string][]string{}
	for range 5 {
		select {
		case line := <-told:
			path, rest, _ := strings.Cut(line, " ")
			got[path] = append(got[path], rest)
		case <-time.After(time.Minute):
			t.Fatalf("the hooks only received %v", got)
		}
	}
	say := func(status string) string { return "s1 all " + task + " " + status + "\n" }
	want := map[string][]string{"/all": {say("working"), say("asking"), say("working"), say("done")}, "/end": {` "` + talk + ` interrupted"`}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("notifications (-want +got):\n%s", diff)
	}
}

// TestHookIsNotifiedOfAQuestion checks that a hook for only that status is notified when the task asks, and of no other
// status.
func TestHookIsNotifiedOfAQuestion(t *testing.T) {
	t.Parallel()
	told := make(chan string, 16)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		told <- string(body)
	}))
	t.Cleanup(receiver.Close)
	cfg := rig.ConfigFor(t, map[string]config.Agent{"agent": rig.AgentAt(adaptertest.Serve(t, &toy.Agent{Says: []string{"Friday it is."}, Asks: "Which day?"}).URL)})
	cfg.Webhooks.AllowPrivateNetworks = true
	b := rig.StartSpeaking(t, cfg, withToy())
	task := b.Do("POST", "/toy/say", "book it", "Toy-Notify", "one "+receiver.URL+" s asking").Want(t, 200, "?\n").Header.Get("Toy-Task")
	b.Do("POST", "/toy/say", "Friday", "Toy-Task", task, "Toy-Notify", "two "+receiver.URL+" s done").Want(t, 200, ".\n")
	got := map[string]bool{}
	for range 2 {
		select {
		case line := <-told:
			got[line] = true
		case <-time.After(time.Minute):
			t.Fatalf("the hooks only received %v", got)
		}
	}
	if !got["one "+task+" asking\n"] || !got["two "+task+" done\n"] {
		t.Errorf("the hooks received %v", got)
	}
}

// TestFurtherDialectAddsRows checks that the toy adds rows to the loss table and changes none.
func TestFurtherDialectAddsRows(t *testing.T) {
	t.Parallel()
	var others []mapping.LossRow
	var told mapping.LossRow
	got := map[string]int{}
	for _, row := range withToy().LossTable() {
		if row.From == "toy" || row.To == "toy" {
			got[row.From+" to "+row.To]++
		} else {
			others = append(others, row)
		}
		if row.From == "toy" && row.To == "taskstep" && row.Field == "transcript" {
			told = row
		}
		if row.To == "toy" && row.Field == "context" && row.Request == "run" && (row.Fate != mapping.Dropped || !strings.Contains(row.Reason, "no equivalent")) {
			t.Errorf("a capability that the toy does not name is %s: %s", row.Fate, row.Reason)
		}
	}
	if told.Request != "say" || told.Fate != mapping.Approximated || !strings.Contains(told.Reason, "memory.max_bytes") {
		t.Errorf("the row of the toy's conversation is %+v", told)
	}
	if diff := cmp.Diff(bridge.Dialects().LossTable(), others); diff != "" {
		t.Errorf("rows without the toy (-before +after):\n%s", diff)
	}
	for _, way := range []string{"toy to toy", "toy to taskstep", "toy to threadrun", "taskstep to toy", "threadrun to toy"} {
		if got[way] == 0 {
			t.Errorf("no rows of %s", way)
		}
	}
}

// The audit log has the effects of a further dialect's routes.
func TestFurtherDialectIsAudited(t *testing.T) {
	t.Parallel()
	cfg := rig.ConfigFor(t, map[string]config.Agent{"agent": rig.AgentAt("http://127.0.0.1:9")})
	cfg.Audit.File = filepath.Join(t.TempDir(), "audit.log")
	b := rig.StartSpeaking(t, cfg, withToy())
	b.Do("POST", "/toy/say", "", "X-Request-Id", "of-the-toy")
	b.End()
	log, err := os.ReadFile(cfg.Audit.File)
	if err != nil || !rig.Says(string(log), "of-the-toy", `"/toy/say"`, string(mapping.Changed)) {
		t.Errorf("the audit log is %s, %v", log, err)
	}
}

// TestFurtherDialectHasAColumn checks that the inspector, which names no dialect, has a column for it.
func TestFurtherDialectHasAColumn(t *testing.T) {
	t.Parallel()
	b := inFrontSpeaking(t, withToy(), &toy.Agent{Says: []string{`"one"`}})
	b.Do("POST", "/toy/say", "hi").OK()
	v := b.Get("/inspect/runs/" + b.Get("/inspect").OK().Text("runs.0.run_id")).OK()
	if v.Text("columns.0") != "Toy" || len(v.List("columns")) != 4 || !strings.Contains(v.String(), `{"name":"line"}`) {
		t.Errorf("%s", v)
	}
}

// TestFurtherRunsOfATask checks that a face can add words to a task that has not ended. They wait for the task's run
// and belong to the task, or answer its question. Other tasks are refused.
func TestFurtherRunsOfATask(t *testing.T) {
	t.Parallel()
	agent := &toy.Agent{Says: []string{"one"}}
	gate := rig.NewGate(agent, func(r *http.Request) bool { return r.Method == http.MethodPost }, 1)
	agents := map[string]config.Agent{
		"agent": rig.AgentAt(adaptertest.Serve(t, gate).URL),
		"asks":  rig.AgentAt(adaptertest.Serve(t, &toy.Agent{Says: []string{"Friday it is."}, Asks: "Which day?"}).URL),
	}
	b := rig.StartSpeaking(t, rig.ConfigFor(t, agents), withToy())

	thread := b.Thread()
	first := b.Begin(thread, "")
	task := first[strings.LastIndex(first, "/")+1:]
	gate.Await(t)
	said := make(chan rig.Answer, 1)
	go func() { said <- b.Do("POST", "/toys/agent/say", "more", "Toy-Task", task) }()
	runs := thread + "/runs"
	rig.Eventually(t, "the second run exists", func() bool { return len(b.Get(runs).OK().List("")) == 2 })
	gate.Open()
	answer := <-said
	answer.Want(t, 200, "- \"one\"\n- \"one\"\n.\n")
	if got := answer.Header.Get("Toy-Task"); got != task {
		t.Errorf("the text belongs to task %s, want %s", got, task)
	}
	steps := b.Get("/ap/v1/agent/tasks/" + task + "/steps").OK().List("steps")
	if diff := cmp.Diff([]any{false, true}, rig.Pluck(steps, "is_last")); diff != "" {
		t.Errorf("is_last of the task's steps (-want +got):\n%s", diff)
	}

	b.Do("POST", "/toys/agent/say", "late", "Toy-Task", task).Want(t, 409, "has ended")
	b.Do("POST", "/toys/agent/say", "x", "Toy-Task", "unknown").Want(t, 404, "no task")
	asked := b.Do("POST", "/toys/asks/say", "book it").Want(t, 200, "- \"Which day?\"\n?\n")
	task, talk := asked.Header.Get("Toy-Task"), asked.Header.Get("Toy-Talk")
	b.Do("POST", "/toys/agent/say", "x", "Toy-Task", task).Want(t, 422, "agent asks")
	b.Do("POST", "/toys/asks/say", "x", "Toy-Task", task, "Toy-Talk", strings.TrimPrefix(thread, "/threads/")).Want(t, 422, "belongs to thread "+talk)
	answered := b.Do("POST", "/toys/asks/say", "Friday", "Toy-Task", task).Want(t, 200, "- \"Which day?\"\n- \"Friday it is.\"\n.\n")
	if got := answered.Header.Get("Toy-Task"); got != task {
		t.Errorf("the answer belongs to task %s, want %s", got, task)
	}
}

// TestNamedTasksOfOthers checks that a task that the caller may not see is unknown to it.
func TestNamedTasksOfOthers(t *testing.T) {
	t.Parallel()
	cfg := rig.ConfigFor(t, map[string]config.Agent{"agent": rig.AgentAt(adaptertest.Serve(t, &toy.Agent{Says: []string{"x"}, Asks: "Which?"}).URL)})
	const alice, bob = "a-key-of-alice-which-is-long", "a-key-of-bob-which-is-long-too"
	cfg.Auth.Keys = []config.Key{{ID: "alice", Key: alice, Tenant: "a"}, {ID: "bob", Key: bob, Tenant: "b"}}
	b := rig.StartSpeaking(t, cfg, withToy())
	task := b.Do("POST", "/toy/say", "hi", "X-Api-Key", alice).OK().Header.Get("Toy-Task")
	b.Do("POST", "/toy/say", "hi", "X-Api-Key", bob, "Toy-Task", task).Want(t, 404, "no task")
	b.Do("POST", "/toy/say", "this one", "X-Api-Key", alice, "Toy-Task", task).Want(t, 200, ".\n")
}
