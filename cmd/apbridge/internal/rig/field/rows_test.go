package field

import (
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
)

// row has the check of a field's effect.
type row struct {
	check func(t *testing.T, op string, f field)
}

// fixture is a bridge with an agent of each dialect and objects of every kind.
type fixture struct {
	*rig.Bridge
	graph *adaptertest.ThreadAgent
	ids   map[string]string
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	step := adaptertest.Serve(t, adaptertest.NewStepAgent(adaptertest.Plain))
	play := adaptertest.ChatPlay()
	play.Frames = append(play.Frames, `updates|inner:1 {"deep":{"x":1}}`)
	graph := &adaptertest.ThreadAgent{Plays: []adaptertest.ThreadPlay{play}}
	w := &fixture{graph: graph}
	cfg := rig.ConfigFor(t, map[string]config.Agent{
		"agent": rig.AgentAt(step.URL, func(a *config.Agent) { a.Dialect = "taskstep" }),
		"graph": rig.AgentAt(adaptertest.Serve(t, graph).URL, func(a *config.Agent) { a.Dialect, a.Assistant = "threadrun", "agent" }),
	})
	cfg.Webhooks.AllowPrivateNetworks = true // the hooks of tests are on loopback
	w.Bridge = rig.StartBridge(t, cfg)
	w.ids = createOneOfEach(w.Bridge, "agent")
	w.createProbes()
	return w
}

// merge returns the object base with the members of more.
func merge(base, more string) string {
	all := map[string]json.RawMessage{}
	for _, text := range []string{base, more} {
		if text != "" {
			if err := json.Unmarshal([]byte(text), &all); err != nil {
				panic(text + ": " + err.Error())
			}
		}
	}
	raw, _ := json.Marshal(all)
	return string(raw)
}

// hint returns a check that the value is accepted. The reason explains why it has no effect.
func (w *fixture) hint(value, reason string) row {
	return row{func(t *testing.T, op string, f field) {
		var without, with rig.Answer
		if family(op) == "RUN" {
			without, with = w.launch(t, op, "", `{"input":"hi"}`).Answer, w.launch(t, op, "", `{"input":"hi","`+f.name+`":`+value+`}`).Answer
		} else {
			without, with = w.send(t, op, operations[op].base), w.send(t, op, w.withField(op, f, value))
		}
		if without.Status != with.Status {
			t.Errorf("%d without %s, %d with it, although %s: %s", without.Status, f.name, with.Status, reason, with.Body)
		}
	}}
}

// dropped returns a check that the value is accepted and that X-Apbridge-Unsupported names the field.
func (w *fixture) dropped(value, reason string) row {
	return row{func(t *testing.T, op string, f field) {
		w.hint(value, reason).check(t, op, f)
		for more, want := range map[string]bool{`{}`: false, `{"` + f.name + `":` + value + `}`: true} {
			if got := w.launch(t, op, "", merge(`{"input":"hi"}`, more)).Header.Get("X-Apbridge-Unsupported"); strings.Contains(got, f.name+";dropped") != want {
				t.Errorf("%s: X-Apbridge-Unsupported is %q", more, got)
			}
		}
	}}
}

// withField returns the operation's base request with a field. A value for the query is plain text.
func (w *fixture) withField(op string, f field, value string) string {
	base := operations[op].base
	if f.query {
		sep := "?"
		if strings.HasPrefix(base, "?") {
			sep = "&"
		}
		return base + sep + f.name + "=" + url.QueryEscape(value)
	}
	return merge(base, `{"`+f.name+`":`+value+`}`)
}

// send makes a request. A request that begins with ? is a query, any other a body.
func (w *fixture) send(t *testing.T, op, request string) rig.Answer {
	t.Helper()
	method, path := split(op)
	path, request = fill(w.ids, path), fill(w.ids, request)
	if strings.HasPrefix(request, "?") {
		return w.Do(method, path+request, "")
	}
	return w.Do(method, path, request)
}

// differs returns a check that the response to with contains the text and the response to without does not. A text
// after a ! is only in the response to without.
func (w *fixture) differs(without, with, text string) row {
	return row{func(t *testing.T, op string, _ field) {
		text, lacks := strings.CutPrefix(fill(w.ids, text), "!")
		a, b := w.send(t, op, without), w.send(t, op, with)
		if b.Status/100 != 2 && !strings.HasPrefix(text, "4") {
			t.Fatalf("%s: %d %s", with, b.Status, b.Body)
		}
		if strings.Contains(statusAndBody(a), text) != lacks {
			t.Errorf("without the field: contains %q is %v: %s", text, !lacks, statusAndBody(a))
		}
		if strings.Contains(statusAndBody(b), text) == lacks {
			t.Errorf("with the field: contains %q is %v: %s", text, lacks, statusAndBody(b))
		}
	}}
}

// expires returns a check that the thread in the response to with has a time to live, and the one in the response to
// without has none.
func (w *fixture) expires(without, with string) row {
	return row{func(t *testing.T, op string, _ field) {
		for i, body := range []string{without, with} {
			made := w.send(t, op, body).OK()
			if th := w.Get("/threads/" + made.Text("thread_id") + "?include=ttl").OK(); strings.Contains(string(th.Body), "expires_at") != (i == 1) {
				t.Errorf("%s: %s", body, th.Body)
			}
		}
	}}
}

// statusAndBody returns the status of a response and its body.
func statusAndBody(a rig.Answer) string {
	return strings.TrimSpace(strconv.Itoa(a.Status) + " " + string(a.Body))
}

// rows returns the checks by operation and field, or by family of operations and field.
func (w *fixture) rows() map[string]row {
	rows := map[string]row{}
	for _, group := range []map[string]row{w.runRows(), w.cronRows(), w.threadRows(), w.stateRows(), w.otherRows()} {
		for name, r := range group {
			rows[name] = r
		}
	}
	return rows
}

// launched is a requested run after its end.
type launched struct {
	rig.Answer
	run    rig.Answer
	at     string // path of the run
	thread string
}

// launch creates a run on one of the six routes and waits for its end. The thread is new unless one is given.
func (w *fixture) launch(t *testing.T, op, thread, more string) launched {
	t.Helper()
	method, path := split(op)
	if thread == "" {
		thread = w.Thread()
	}
	if strings.Contains(path, "{thread_id}") {
		path = strings.Replace(path, "/threads/{thread_id}", thread, 1)
	} else if !strings.Contains(more, `"thread_id"`) {
		more = merge(more, `{"thread_id":"`+strings.TrimPrefix(thread, "/threads/")+`"}`)
	}
	l := launched{Answer: w.Do(method, path, more), thread: thread}
	if l.Status != 200 {
		return l
	}
	l.at = l.Header.Get("Content-Location")
	w.Get(l.at + "/join").OK()
	l.run = w.Get(l.at).OK()
	return l
}

func (w *fixture) runRow(check func(t *testing.T, op string)) row {
	return row{func(t *testing.T, op string, _ field) { check(t, op) }}
}

// reachesAgent checks that the text is in the graph agent's last request if the field is set, and only then.
func (w *fixture) reachesAgent(more, text string) row {
	return w.runRow(func(t *testing.T, op string) {
		for _, c := range []struct {
			more string
			want bool
		}{{`{}`, false}, {more, true}} {
			w.launch(t, op, "", merge(`{"assistant_id":"graph","input":"hi"}`, c.more)).OK()
			all := w.graph.Bodies("POST /threads/{t}/runs/stream")
			if last := string(all[len(all)-1]); strings.Contains(last, text) != c.want {
				t.Errorf("%s: %q in the agent's request is %v: %s", c.more, text, !c.want, last)
			}
		}
	})
}

// statusChanges checks the status of the response without and with the field. If prepare is set, it returns the path of
// the thread.
func (w *fixture) statusChanges(without int, more string, with int, prepare func() string) row {
	return w.runRow(func(t *testing.T, op string) {
		for _, c := range []struct {
			more   string
			status int
		}{{`{}`, without}, {more, with}} {
			thread := ""
			if prepare != nil {
				thread = prepare()
			}
			if got := w.launch(t, op, thread, merge(`{"assistant_id":"agent","input":"hi"}`, c.more)); got.Status != c.status {
				t.Errorf("%s: %d, want %d: %s", c.more, got.Status, c.status, got.Body)
			}
		}
	})
}

func (w *fixture) busyThread() string {
	th := w.Thread()
	w.Post(th+"/runs", `{"assistant_id":"agent","input":"later","after_seconds":3600}`).OK()
	return th
}

func (w *fixture) missingThread() string { return "/threads/" + mapping.NewID() }

// stateHas checks that the text is in the thread's state after a run with the field, and not after one without it.
func (w *fixture) stateHas(more, text string) row {
	return w.runRow(func(t *testing.T, op string) {
		for _, c := range []struct {
			more string
			want bool
		}{{`{"input":"hi"}`, false}, {more, true}} {
			l := w.launch(t, op, "", merge(`{"assistant_id":"agent"}`, c.more))
			if got := string(w.Get(l.OK().thread + "/state").OK().Body); strings.Contains(got, text) != c.want {
				t.Errorf("%s: %s", c.more, got)
			}
		}
	})
}

func (l launched) OK() launched { l.Answer.OK(); return l }

// framesHave checks that the text is in the run's stream only if the field is set. The stream is read in the run's own
// modes.
func (w *fixture) framesHave(base, more, text string) row {
	return w.runRow(func(t *testing.T, op string) {
		for _, c := range []struct {
			more string
			want bool
		}{{`{}`, false}, {more, true}} {
			l := w.launch(t, op, "", merge(base, c.more)).OK()
			if got := string(w.Do("GET", l.at+"/stream", "", "Last-Event-ID", "-1").OK().Body); strings.Contains(got, text) != c.want {
				t.Errorf("%s: %q is %v in %s", c.more, text, !c.want, got)
			}
		}
	})
}

// runHas checks that a member of the run has the value only if the field is set.
func (w *fixture) runHas(more, member, want string) row {
	return w.runRow(func(t *testing.T, op string) {
		without := w.launch(t, op, "", `{"input":"hi"}`).OK()
		l := w.launch(t, op, "", merge(`{"input":"hi"}`, more)).OK()
		if l.run.At(member) != want || without.run.At(member) == want {
			t.Errorf("%s is %v with and %v without", member, l.run.At(member), without.run.At(member))
		}
	})
}

// proven takes pairs of a folder and a test in it. These tests cover the field.
func proven(tests ...string) row {
	return row{func(t *testing.T, _ string, _ field) {
		for i := 0; i < len(tests); i += 2 {
			rig.ProvenBy(tests[i], tests[i+1])(t)
		}
	}}
}

func (w *fixture) runRows() map[string]row {
	thread := mapping.NewID()
	return map[string]row{
		"RUN input":              w.stateHas(`{"input":"magic words"}`, "magic words"),
		"RUN messages":           w.stateHas(`{"messages":[{"role":"user","content":"magic words"}]}`, "magic words"),
		"RUN command":            w.runRow(w.checkResume),
		"RUN config":             w.reachesAgent(`{"config":{"tags":["magic"]}}`, "magic"),
		"RUN context":            w.reachesAgent(`{"context":{"tone":"magic"}}`, "magic"),
		"RUN interrupt_before":   w.reachesAgent(`{"interrupt_before":["magic"]}`, `"interrupt_before":["magic"]`),
		"RUN interrupt_after":    w.reachesAgent(`{"interrupt_after":["magic"]}`, `"interrupt_after":["magic"]`),
		"RUN metadata":           w.runHas(`{"metadata":{"probe":"magic"}}`, "metadata.probe", "magic"),
		"RUN assistant_id":       w.runHas(`{"assistant_id":"graph"}`, "agent_id", "graph"),
		"RUN agent_id":           w.runHas(`{"agent_id":"graph"}`, "agent_id", "graph"),
		"RUN thread_id":          w.runHas(`{"thread_id":"`+thread+`","if_not_exists":"create"}`, "thread_id", thread),
		"RUN stream_mode":        w.framesHave(`{"assistant_id":"agent","input":"hi"}`, `{"stream_mode":"updates"}`, "event: updates"),
		"RUN stream_subgraphs":   w.framesHave(`{"assistant_id":"graph","input":"hi","stream_mode":["updates"]}`, `{"stream_subgraphs":true}`, "updates|inner:1"),
		"RUN checkpoint":         w.forks(`{"assistant_id":"agent","input":"hi"}`, `{"checkpoint":{"checkpoint_id":"{first}"}}`),
		"RUN checkpoint_id":      w.forks(`{"assistant_id":"agent","input":"hi"}`, `{"checkpoint_id":"{first}"}`),
		"RUN multitask_strategy": w.statusChanges(200, `{"multitask_strategy":"reject"}`, 409, w.busyThread),
		"RUN if_not_exists":      w.statusChanges(404, `{"if_not_exists":"create"}`, 200, w.missingThread),
		"RUN webhook":            w.runRow(w.checkWebhook),
		"RUN on_completion":      w.runRow(w.checkCompletion),
		"RUN on_disconnect":      proven("cmd/apbridge", "TestRunOfAClientThatDisconnects"),
		"RUN after_seconds":      w.runRow(w.checkDelay),
		"RUN stream_resumable":   w.hint(`true`, "every stream can be resumed"),
		"RUN feedback_keys":      w.dropped(`["a"]`, "they need a tracing service of LangChain's"),
		"RUN checkpoint_during":  w.dropped(`true`, "every step is durable in any case"),
		"RUN durability":         w.dropped(`"async"`, "every step is durable in any case"),
		"RUN langsmith_tracer":   w.dropped(`{"project_name":"p"}`, "it needs a tracing service of LangChain's"),
		"RUN strict_resume":      proven(threadrunTests, "TestStrictResume"),
	}
}

// payload checks that the cron's runs are created with the field, which is in the cron's payload.
func (w *fixture) payload(value string) row {
	return w.cronHas(value, func(f field, c rig.Answer) bool {
		got, _ := json.Marshal(c.At("payload." + f.name))
		return string(got) == value
	})
}

func (w *fixture) cronHas(value string, ok func(f field, c rig.Answer) bool) row {
	return row{func(t *testing.T, op string, f field) {
		if got := w.send(t, op, w.withField(op, f, value)).OK(); !ok(f, got) {
			t.Errorf("with %s: %s", f.name, got.Body)
		}
		// For a cron that exists, null removes the value.
		if got := w.send(t, op, merge(`{"schedule":"0 0 1 1 *"}`, `{"`+f.name+`":null}`)); got.Status/100 == 2 && ok(f, got) && f.name != "schedule" {
			t.Errorf("without %s: %s", f.name, got.Body)
		}
	}}
}

func (w *fixture) cronRows() map[string]row {
	member := func(value string, want any) row {
		return w.cronHas(value, func(f field, c rig.Answer) bool { return c.At(f.name) == want })
	}
	return map[string]row{
		"CRON input": w.payload(`"magic"`), "CRON config": w.payload(`{"tags":["x"]}`), "CRON context": w.payload(`{"a":1}`), "CRON stream_mode": w.payload(`"updates"`),
		"CRON interrupt_before": w.payload(`"*"`), "CRON interrupt_after": w.payload(`["*"]`), "CRON multitask_strategy": w.payload(`"enqueue"`), "CRON stream_subgraphs": w.payload(`true`),
		"CRON webhook":  w.payload(`"https://example.com/hook"`),
		"CRON metadata": w.cronHas(`{"probe":"magic"}`, func(_ field, c rig.Answer) bool { return c.At("metadata.probe") == "magic" }),
		"CRON schedule": member(`"0 0 2 2 *"`, "0 0 2 2 *"), "CRON timezone": member(`"Asia/Tokyo"`, "Asia/Tokyo"),
		"CRON end_time": w.cronHas(`"2100-01-01T00:00:00Z"`, func(_ field, c rig.Answer) bool { return strings.HasPrefix(rig.TextOf(c.At("end_time")), "2100-01-01") }),
		"CRON enabled":  w.cronHas(`false`, func(_ field, c rig.Answer) bool { return c.At("enabled") == false && c.At("next_run_date") == nil }),
		"CRON on_run_completed": {func(t *testing.T, op string, f field) {
			if strings.Contains(op, "{thread_id}") {
				if got := w.send(t, op, w.withField(op, f, `"delete"`)); got.Status != 422 || !rig.Says(got.Text("message"), f.name) {
					t.Errorf("%s", got.Body)
				}
				return
			}
			member(`"keep"`, "keep").check(t, op, f)
		}},
		"CRON stream_resumable": w.hint(`true`, "every stream can be resumed"), "CRON checkpoint_during": w.hint(`true`, "every step is durable in any case"),
		"CRON durability":                                   w.hint(`"sync"`, "every step is durable in any case"),
		"POST /runs/crons assistant_id":                     w.cronHas(`"graph"`, func(_ field, c rig.Answer) bool { return c.At("assistant_id") == mapping.AssistantID("graph") }),
		"POST /threads/{thread_id}/runs/crons assistant_id": w.cronHas(`"graph"`, func(_ field, c rig.Answer) bool { return c.At("assistant_id") == mapping.AssistantID("graph") }),
	}
}
