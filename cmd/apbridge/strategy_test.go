package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/config"
)

// creator is a route that starts a run on a thread, which is a topic as well.
type creator struct {
	name, path, body string // the thread is {t}, the strategy {s}, the task {k}
	made, task       string // below the topic: the route that makes the task first, and its body
	fallback         string // the strategy without one
}

const strategyBody = `{"assistant_id":"agent","multitask_strategy":{s},` + saysHi + `}`

var creators = []creator{
	{name: "threadrun, create", path: "/threads/{t}/runs", body: strategyBody, fallback: "enqueue"},
	{name: "threadrun, wait", path: "/threads/{t}/runs/wait", body: strategyBody, fallback: "enqueue"},
	{name: "threadrun, stream", path: "/threads/{t}/runs/stream", body: strategyBody, fallback: "enqueue"},
	{name: "Agent Protocol, create", path: "/runs", body: `{"agent_id":"agent","thread_id":"{t}","multitask_strategy":{s},` + saysHi + `}`, fallback: "reject"},
	{name: "Agent Protocol, wait", path: "/runs/wait", body: `{"agent_id":"agent","thread_id":"{t}","multitask_strategy":{s},` + saysHi + `}`, fallback: "reject"},
	{name: "Agent Protocol, stream", path: "/runs/stream", body: `{"agent_id":"agent","thread_id":"{t}","multitask_strategy":{s},` + saysHi + `}`, fallback: "reject"},
	{name: "task of a topic", made: "tasks", task: `{"input":"hi","additional_input":{"multitask_strategy":{s}}}`, path: "/ap/v2/topics/{t}/tasks/{k}/steps", fallback: "enqueue"},
	{name: "interaction of a topic", made: "interactions", task: `{"input":"hi","additional_input":{"multitask_strategy":{s}}}`, path: "/ap/v2/topics/{t}/tasks/{k}/steps", fallback: "enqueue"},
}

// duel is a thread whose first run hangs at its agent, and a second request.
type duel struct {
	*bridge
	gate   *gate
	at     string // the thread
	first  string // path of its first run
	second chan answer
}

func newDuel(t *testing.T, c creator, strategy string, change ...func(*config.Agent)) *duel {
	t.Helper()
	g := newGate(adaptertest.NewStepAgent(adaptertest.Plain), stepPosts, 1)
	b := inFront(t, g, append(change, whole, func(a *config.Agent) { a.Dialect = "taskstep" })...)
	thread := b.post("/ap/v2/topics", "").ok().text("topic_id")
	d := &duel{b, g, "/threads/" + thread, "", make(chan answer, 1)}
	d.first = b.begin(d.at, "")
	g.await(t)
	said := "null"
	if strategy != "" {
		said = `"` + strategy + `"`
	}
	fill := strings.NewReplacer("{t}", thread, "{s}", said)
	path := fill.Replace(c.path)
	if c.task != "" {
		made := b.post("/ap/v2/topics/"+thread+"/"+c.made, omitNull(fill.Replace(c.task)))
		if made.status/100 != 2 {
			d.second <- made
			return d
		}
		path = strings.ReplaceAll(path, "{k}", made.text("task_id"))
	}
	go func() {
		a, err := b.try(context.Background(), "POST", path, omitNull(fill.Replace(c.body)))
		if err != nil {
			a = answer{t: t, name: path, status: 599, body: []byte(err.Error())}
		}
		d.second <- a
	}()
	return d
}

// omitNull leaves a strategy out that nobody named.
func omitNull(body string) string {
	return strings.NewReplacer(`"multitask_strategy":null,`, "", `"multitask_strategy":null`, "").Replace(body)
}

// statuses are those of the thread's runs, oldest first.
func (d *duel) statuses() string {
	list := d.get(d.at + "/runs").ok().list("")
	var all []string
	for i := len(list) - 1; i >= 0; i-- {
		all = append(all, fmt.Sprint(dig(list[i], "status")))
	}
	return strings.Join(all, " ")
}

func (d *duel) runs(want string) {
	d.t.Helper()
	eventually(d.t, "runs that are "+want, func() bool { return d.statuses() == want })
}

// outcomes say what becomes of the second request under each strategy.
var outcomes = map[string]func(*duel){
	"reject": func(d *duel) {
		if a := <-d.second; a.status != http.StatusConflict || !strings.Contains(string(a.body), "busy") {
			d.t.Errorf("answered %d: %s", a.status, a.body)
		}
		d.gate.open()
		d.runs("success")
	},
	"enqueue": func(d *duel) {
		d.runs("running pending")
		d.gate.open()
		(<-d.second).ok()
		d.runs("success success")
	},
	"interrupt": func(d *duel) {
		(<-d.second).ok()
		d.runs("interrupted success")
	},
	"rollback": func(d *duel) {
		(<-d.second).ok()
		d.runs("success")
		d.get(d.first).is(http.StatusNotFound)
	},
	"concurrent": func(d *duel) {
		(<-d.second).ok()
		d.runs("running success")
		d.expect(d.at, "status", "busy")
		d.gate.open()
		d.runs("success success")
		if n := len(d.get(d.at + "/state").ok().list("values.messages")); n < 7 { // both may have said hi under one id
			d.t.Errorf("%d messages, want what both have said", n)
		}
		if n := len(d.get(d.at + "/history?limit=100").ok().list("")); n < 8 {
			d.t.Errorf("%d checkpoints", n)
		}
	},
}

// TestStrategies: every route that starts a run on a thread honours every
// strategy, and has a default.
func TestStrategies(t *testing.T) {
	t.Parallel()
	sharing := func(a *config.Agent) { a.AllowConcurrent = true }
	for _, c := range creators {
		for _, s := range []string{"", "reject", "enqueue", "interrupt", "rollback", "concurrent"} {
			t.Run(c.name+"/"+s, func(t *testing.T) {
				t.Parallel()
				d := newDuel(t, c, s, sharing)
				effect := s
				if s == "" {
					effect = c.fallback
				}
				outcomes[effect](d)
				d.expect(d.at, "status", "idle")
			})
		}
		t.Run(c.name+"/concurrent is off", func(t *testing.T) {
			t.Parallel()
			d := newDuel(t, c, "concurrent")
			want := http.StatusUnprocessableEntity
			if strings.Contains(c.path, "topics") {
				want = http.StatusBadRequest
			}
			if a := <-d.second; a.status != want || !strings.Contains(string(a.body), "allow_concurrent") {
				t.Errorf("answered %d: %s", a.status, a.body)
			}
			d.gate.open()
			d.runs("success")
		})
	}
}

// A run whose request names no strategy follows its agent's configuration, and
// a request that names one does not.
func TestDefaultStrategyOfAnAgent(t *testing.T) {
	t.Parallel()
	protocol := creators[3] // whose clients' documents say reject
	for set, effect := range map[string]string{"enqueue": "enqueue", "interrupt": "interrupt", "auto": "reject"} {
		t.Run(set, func(t *testing.T) {
			t.Parallel()
			d := newDuel(t, protocol, "", func(a *config.Agent) { a.Multitask = set })
			outcomes[effect](d)
		})
	}
	t.Run("a request that says reject", func(t *testing.T) {
		t.Parallel()
		d := newDuel(t, protocol, "reject", func(a *config.Agent) { a.Multitask = "enqueue" })
		outcomes["reject"](d)
	})
}

// A batch makes its runs one by one, each as it would be alone.
func TestStrategiesInABatch(t *testing.T) {
	t.Parallel()
	b := inFront(t, adaptertest.NewStepAgent(adaptertest.Plain), func(a *config.Agent) { a.AllowConcurrent = true })
	got := b.post("/runs/batch", `[{"assistant_id":"agent","multitask_strategy":"concurrent",`+saysHi+`},{"assistant_id":"agent","multitask_strategy":"enqueue",`+saysHi+`}]`).ok()
	for i, want := range []string{"concurrent", "enqueue"} {
		if got := got.text(fmt.Sprintf("%d.multitask_strategy", i)); got != want {
			t.Errorf("run %d is %s", i, got)
		}
	}
}
