package field

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
)

// row describes the effect of a field.
type row struct {
	check func(t *testing.T, op string, f field)
}

// fieldWorld is a bridge in front of an agent of either kind, with something of everything.
type fieldWorld struct {
	*rig.Bridge
	graph *adaptertest.ThreadAgent
	ids   map[string]string
}

func newFieldWorld(t *testing.T) *fieldWorld {
	t.Helper()
	step := adaptertest.Serve(t, adaptertest.NewStepAgent(adaptertest.Plain))
	play := adaptertest.ChatPlay()
	play.Frames = append(play.Frames, `updates|inner:1 {"deep":{"x":1}}`)
	graph := &adaptertest.ThreadAgent{Plays: []adaptertest.ThreadPlay{play}}
	w := &fieldWorld{graph: graph}
	cfg := rig.ConfigFor(t, map[string]config.Agent{
		"agent": rig.AgentAt(step.URL, func(a *config.Agent) { a.Dialect = "taskstep" }),
		"graph": rig.AgentAt(adaptertest.Serve(t, graph).URL, func(a *config.Agent) { a.Dialect, a.Assistant = "threadrun", "agent" }),
	})
	cfg.Webhooks.AllowPrivateNetworks = true // where the hooks of tests are
	w.Bridge = rig.StartBridge(t, cfg)
	w.ids = oneOfEverything(w.Bridge, "agent")
	w.probes()
	return w
}

// over is an object with members of another in it.
func over(base, more string) string {
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

// hint: a value is taken, and the reason is why it changes nothing.
func (w *fieldWorld) hint(value, reason string) row {
	return row{func(t *testing.T, op string, f field) {
		if len(reason) < 20 {
			t.Errorf("why does %s change nothing? %q", f.name, reason)
		}
		var without, with rig.Answer
		if family(op) == "RUN" {
			without, with = w.launch(t, op, "", `{"input":"hi"}`).Answer, w.launch(t, op, "", `{"input":"hi","`+f.name+`":`+value+`}`).Answer
		} else {
			without, with = w.send(t, op, operations[op].base), w.send(t, op, w.with(op, f, value))
		}
		if without.Status != with.Status {
			t.Errorf("%d without %s, %d with it: %s", without.Status, f.name, with.Status, with.Body)
		}
	}}
}

// lost is a hint that the answer names among what got lost on the way.
func (w *fieldWorld) lost(value, reason string) row {
	return row{func(t *testing.T, op string, f field) {
		w.hint(value, reason).check(t, op, f)
		for more, want := range map[string]bool{`{}`: false, `{"` + f.name + `":` + value + `}`: true} {
			if got := w.launch(t, op, "", over(`{"input":"hi"}`, more)).Header.Get("X-Apbridge-Unsupported"); strings.Contains(got, f.name+";dropped") != want {
				t.Errorf("%s: X-Apbridge-Unsupported is %q", more, got)
			}
		}
	}}
}

// with is the base request with a field. A value for the query is text.
func (w *fieldWorld) with(op string, f field, value string) string {
	base := operations[op].base
	if f.query {
		sep := "?"
		if strings.HasPrefix(base, "?") {
			sep = "&"
		}
		return base + sep + f.name + "=" + url.QueryEscape(value)
	}
	return over(base, `{"`+f.name+`":`+value+`}`)
}

// send makes a request; what begins with ? is a query.
func (w *fieldWorld) send(t *testing.T, op, request string) rig.Answer {
	t.Helper()
	method, path := split(op)
	path, request = put(w.ids, path), put(w.ids, request)
	if strings.HasPrefix(request, "?") {
		return w.Do(method, path+request, "")
	}
	return w.Do(method, path, request)
}

// differs: the answer to with holds a text (or, after a !, lacks it), and the answer to without does not.
func (w *fieldWorld) differs(without, with, text string) row {
	return row{func(t *testing.T, op string, _ field) {
		text, lacks := strings.CutPrefix(put(w.ids, text), "!")
		a, b := w.send(t, op, without), w.send(t, op, with)
		if b.Status/100 != 2 && !strings.HasPrefix(text, "4") {
			t.Fatalf("%s: %d %s", with, b.Status, b.Body)
		}
		if strings.Contains(full(a), text) != lacks {
			t.Errorf("without: %q in %s", text, full(a))
		}
		if strings.Contains(full(b), text) == lacks {
			t.Errorf("with: %q in %s", text, full(b))
		}
	}}
}

// expires: the thread that with is answered with has a time to live, the one of without, before, has none.
func (w *fieldWorld) expires(without, with string) row {
	return row{func(t *testing.T, op string, _ field) {
		for i, body := range []string{without, with} {
			made := w.send(t, op, body).OK()
			if th := w.Get("/threads/" + made.Text("thread_id") + "?include=ttl").OK(); strings.Contains(string(th.Body), "expires_at") != (i == 1) {
				t.Errorf("%s: %s", body, th.Body)
			}
		}
	}}
}

// full is an answer with its status in front.
func full(a rig.Answer) string {
	return strings.TrimSpace(jsonNumber(a.Status) + " " + string(a.Body))
}

func jsonNumber(n int) string { b, _ := json.Marshal(n); return string(b) }

// rows are by operation and field, or by the family of operations.
func (w *fieldWorld) rows() map[string]row {
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
	at     string // its path
	thread string
}

// launch makes a run by one of the six routes and waits for its end. The thread is a fresh one unless more names one.
func (w *fieldWorld) launch(t *testing.T, op, thread, more string) launched {
	t.Helper()
	method, path := split(op)
	if thread == "" {
		thread = w.Thread()
	}
	if strings.Contains(path, "{thread_id}") {
		path = strings.Replace(path, "/threads/{thread_id}", thread, 1)
	} else if !strings.Contains(more, `"thread_id"`) {
		more = over(more, `{"thread_id":"`+strings.TrimPrefix(thread, "/threads/")+`"}`)
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

func (w *fieldWorld) runRow(check func(t *testing.T, op string)) row {
	return row{func(t *testing.T, op string, _ field) { check(t, op) }}
}

// toldGraph checks that a text is in the last request to the graph's agent.
func (w *fieldWorld) toldGraph(more, text string) row {
	return w.runRow(func(t *testing.T, op string) {
		for _, c := range []struct {
			more string
			want bool
		}{{`{}`, false}, {more, true}} {
			w.launch(t, op, "", over(`{"assistant_id":"graph","input":"hi"}`, c.more)).OK()
			all := w.graph.Bodies("POST /threads/{t}/runs/stream")
			if last := string(all[len(all)-1]); strings.Contains(last, text) != c.want {
				t.Errorf("%s: %q in what the agent got is %v: %s", c.more, text, !c.want, last)
			}
		}
	})
}

// statuses: without the field one status, with it another.
func (w *fieldWorld) statuses(without int, more string, with int, prepare func() string) row {
	return w.runRow(func(t *testing.T, op string) {
		for _, c := range []struct {
			more   string
			status int
		}{{`{}`, without}, {more, with}} {
			thread := ""
			if prepare != nil {
				thread = prepare()
			}
			if got := w.launch(t, op, thread, over(`{"assistant_id":"agent","input":"hi"}`, c.more)); got.Status != c.status {
				t.Errorf("%s: %d, want %d: %s", c.more, got.Status, c.status, got.Body)
			}
		}
	})
}

func (w *fieldWorld) busyThread() string {
	th := w.Thread()
	w.Post(th+"/runs", `{"assistant_id":"agent","input":"later","after_seconds":3600}`).OK()
	return th
}

func (w *fieldWorld) noThread() string { return "/threads/" + mapping.NewID() }

// stateHas: the words are in the thread's state after the run.
func (w *fieldWorld) stateHas(more, text string) row {
	return w.runRow(func(t *testing.T, op string) {
		for _, c := range []struct {
			more string
			want bool
		}{{`{"input":"hi"}`, false}, {more, true}} {
			l := w.launch(t, op, "", over(`{"assistant_id":"agent"}`, c.more))
			if got := string(w.Get(l.ok2().thread + "/state").OK().Body); strings.Contains(got, text) != c.want {
				t.Errorf("%s: %s", c.more, got)
			}
		}
	})
}

func (l launched) ok2() launched { l.OK(); return l }

// framesHave: the run's stream, read in the modes it was made with.
func (w *fieldWorld) framesHave(base, more, text string) row {
	return w.runRow(func(t *testing.T, op string) {
		for _, c := range []struct {
			more string
			want bool
		}{{`{}`, false}, {more, true}} {
			l := w.launch(t, op, "", over(base, c.more)).ok2()
			if got := string(w.Do("GET", l.at+"/stream", "", "Last-Event-ID", "-1").OK().Body); strings.Contains(got, text) != c.want {
				t.Errorf("%s: %q is %v in %s", c.more, text, !c.want, got)
			}
		}
	})
}

// runHas: the run itself says it.
func (w *fieldWorld) runHas(more, member, want string) row {
	return w.runRow(func(t *testing.T, op string) {
		without := w.launch(t, op, "", `{"input":"hi"}`).ok2()
		l := w.launch(t, op, "", over(`{"input":"hi"}`, more)).ok2()
		if l.run.At(member) != want || without.run.At(member) == want {
			t.Errorf("%s is %v with and %v without", member, l.run.At(member), without.run.At(member))
		}
	})
}

// proven: tests elsewhere show it, each named by its folder and name.
func proven(tests ...string) row {
	return row{func(t *testing.T, _ string, _ field) {
		for i := 0; i < len(tests); i += 2 {
			rig.ProvenBy(tests[i], tests[i+1])(t)
		}
	}}
}

func (w *fieldWorld) runRows() map[string]row {
	thread := mapping.NewID()
	return map[string]row{
		"RUN input":              w.stateHas(`{"input":"magic words"}`, "magic words"),
		"RUN messages":           w.stateHas(`{"messages":[{"role":"user","content":"magic words"}]}`, "magic words"),
		"RUN command":            w.runRow(w.resumed),
		"RUN config":             w.toldGraph(`{"config":{"tags":["magic"]}}`, "magic"),
		"RUN context":            w.toldGraph(`{"context":{"tone":"magic"}}`, "magic"),
		"RUN interrupt_before":   w.toldGraph(`{"interrupt_before":["magic"]}`, `"interrupt_before":["magic"]`),
		"RUN interrupt_after":    w.toldGraph(`{"interrupt_after":["magic"]}`, `"interrupt_after":["magic"]`),
		"RUN metadata":           w.runHas(`{"metadata":{"probe":"magic"}}`, "metadata.probe", "magic"),
		"RUN assistant_id":       w.runHas(`{"assistant_id":"graph"}`, "agent_id", "graph"),
		"RUN agent_id":           w.runHas(`{"agent_id":"graph"}`, "agent_id", "graph"),
		"RUN thread_id":          w.runHas(`{"thread_id":"`+thread+`","if_not_exists":"create"}`, "thread_id", thread),
		"RUN stream_mode":        w.framesHave(`{"assistant_id":"agent","input":"hi"}`, `{"stream_mode":"updates"}`, "event: updates"),
		"RUN stream_subgraphs":   w.framesHave(`{"assistant_id":"graph","input":"hi","stream_mode":["updates"]}`, `{"stream_subgraphs":true}`, "updates|inner:1"),
		"RUN checkpoint":         w.forks(`{"assistant_id":"agent","input":"hi"}`, `{"checkpoint":{"checkpoint_id":"{first}"}}`),
		"RUN checkpoint_id":      w.forks(`{"assistant_id":"agent","input":"hi"}`, `{"checkpoint_id":"{first}"}`),
		"RUN multitask_strategy": w.statuses(200, `{"multitask_strategy":"reject"}`, 409, w.busyThread),
		"RUN if_not_exists":      w.statuses(404, `{"if_not_exists":"create"}`, 200, w.noThread),
		"RUN webhook":            w.runRow(w.hooked),
		"RUN on_completion":      w.runRow(w.kept),
		"RUN on_disconnect":      proven("cmd/apbridge", "TestRunOfAClientThatLeaves"),
		"RUN after_seconds":      w.runRow(w.delayed),
		"RUN stream_resumable":   w.hint(`true`, "every stream can be resumed"),
		"RUN feedback_keys":      w.lost(`["a"]`, "they need a tracing service of LangChain's"),
		"RUN checkpoint_during":  w.lost(`true`, "every step is durable, whatever is asked"),
		"RUN durability":         w.lost(`"async"`, "every step is durable, whatever is asked"),
		"RUN langsmith_tracer":   w.lost(`{"project_name":"p"}`, "it needs a tracing service of LangChain's"),
		"RUN strict_resume":      proven(there, "TestStrictResume"),
	}
}

// payload checks that the cron's runs are created with the field, which is in the cron's payload.
func (w *fieldWorld) payload(value string) row {
	return w.cronHas(value, func(f field, c rig.Answer) bool {
		got, _ := json.Marshal(c.At("payload." + f.name))
		return string(got) == value
	})
}

func (w *fieldWorld) cronHas(value string, ok func(f field, c rig.Answer) bool) row {
	return row{func(t *testing.T, op string, f field) {
		if w.send(t, op, w.with(op, f, value)); true {
			got := w.send(t, op, w.with(op, f, value)).OK()
			if !ok(f, got) {
				t.Errorf("with: %s", got.Body)
			}
		}
		// A null takes it back, where the cron is there already.
		if plain := w.send(t, op, over(`{"schedule":"0 0 1 1 *"}`, `{"`+f.name+`":null}`)); plain.Status/100 == 2 && ok(f, plain) && f.name != "schedule" {
			t.Errorf("without: %s", plain.Body)
		}
	}}
}

func (w *fieldWorld) cronRows() map[string]row {
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
				if got := w.send(t, op, w.with(op, f, `"delete"`)); got.Status != 422 || !rig.Says(got.Text("message"), f.name) {
					t.Errorf("%s", got.Body)
				}
				return
			}
			member(`"keep"`, "keep").check(t, op, f)
		}},
		"CRON stream_resumable": w.hint(`true`, "every stream can be resumed"), "CRON checkpoint_during": w.hint(`true`, "every step is durable, whatever is asked"),
		"CRON durability":                                   w.hint(`"sync"`, "every step is durable, whatever is asked"),
		"POST /runs/crons assistant_id":                     w.cronHas(`"graph"`, func(_ field, c rig.Answer) bool { return c.At("assistant_id") == mapping.AssistantID("graph") }),
		"POST /threads/{thread_id}/runs/crons assistant_id": w.cronHas(`"graph"`, func(_ field, c rig.Answer) bool { return c.At("assistant_id") == mapping.AssistantID("graph") }),
	}
}
