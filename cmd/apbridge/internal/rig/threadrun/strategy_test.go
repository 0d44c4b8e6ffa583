package threadrun

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/config"
)

// creator is a route that starts a run on a thread, which is also a topic.
type creator struct {
	name, path, body string // the thread is {t}, the strategy {s}, the task {k}
	made, task       string // below the topic: the route that creates the task first, and its body
	fallback         string // the strategy without one in the request
}

const strategyBody = `{"assistant_id":"agent","multitask_strategy":{s},` + rig.SaysHi + `}`

var creators = []creator{
	{name: "threadrun, create", path: "/threads/{t}/runs", body: strategyBody, fallback: "enqueue"},
	{name: "threadrun, wait", path: "/threads/{t}/runs/wait", body: strategyBody, fallback: "enqueue"},
	{name: "threadrun, stream", path: "/threads/{t}/runs/stream", body: strategyBody, fallback: "enqueue"},
	{name: "Agent Protocol, create", path: "/runs", body: `{"agent_id":"agent","thread_id":"{t}","multitask_strategy":{s},` + rig.SaysHi + `}`, fallback: "reject"},
	{name: "Agent Protocol, wait", path: "/runs/wait", body: `{"agent_id":"agent","thread_id":"{t}","multitask_strategy":{s},` + rig.SaysHi + `}`, fallback: "reject"},
	{name: "Agent Protocol, stream", path: "/runs/stream", body: `{"agent_id":"agent","thread_id":"{t}","multitask_strategy":{s},` + rig.SaysHi + `}`, fallback: "reject"},
	{name: "task of a topic", made: "tasks", task: `{"input":"hi","additional_input":{"multitask_strategy":{s}}}`, path: "/ap/v2/topics/{t}/tasks/{k}/steps", fallback: "enqueue"},
	{name: "interaction of a topic", made: "interactions", task: `{"input":"hi","additional_input":{"multitask_strategy":{s}}}`, path: "/ap/v2/topics/{t}/tasks/{k}/steps", fallback: "enqueue"},
}

// busyThread is a thread whose first run hangs at its agent, and a second request.
type busyThread struct {
	*rig.Bridge
	gate   *rig.Gate
	at     string // the thread
	first  string // path of its first run
	second chan rig.Answer
}

func newBusyThread(t *testing.T, c creator, strategy string, change ...func(*config.Agent)) *busyThread {
	t.Helper()
	g := rig.NewGate(adaptertest.NewStepAgent(adaptertest.Plain), rig.StepPosts, 1)
	b := rig.InFront(t, g, append(change, rig.Whole, func(a *config.Agent) { a.Dialect = "taskstep" })...)
	thread := b.Post("/ap/v2/topics", "").OK().Text("topic_id")
	d := &busyThread{b, g, "/threads/" + thread, "", make(chan rig.Answer, 1)}
	d.first = b.Begin(d.at, "")
	g.Await(t)
	said := "null"
	if strategy != "" {
		said = `"` + strategy + `"`
	}
	fill := strings.NewReplacer("{t}", thread, "{s}", said)
	path := fill.Replace(c.path)
	if c.task != "" {
		made := b.Post("/ap/v2/topics/"+thread+"/"+c.made, omitNull(fill.Replace(c.task)))
		if made.Status/100 != 2 {
			d.second <- made
			return d
		}
		path = strings.ReplaceAll(path, "{k}", made.Text("task_id"))
	}
	go func() {
		a, err := b.Try(context.Background(), "POST", path, omitNull(fill.Replace(c.body)))
		if err != nil {
			a = rig.Answer{T: t, Name: path, Status: 599, Body: []byte(err.Error())}
		}
		d.second <- a
	}()
	return d
}

// omitNull removes a strategy that the request does not specify.
func omitNull(body string) string {
	return strings.NewReplacer(`"multitask_strategy":null,`, "", `"multitask_strategy":null`, "").Replace(body)
}

// statuses returns the statuses of the thread's runs, oldest first.
func (d *busyThread) statuses() string {
	list := d.Get(d.at + "/runs").OK().List("")
	var all []string
	for i := len(list) - 1; i >= 0; i-- {
		all = append(all, fmt.Sprint(rig.Dig(list[i], "status")))
	}
	return strings.Join(all, " ")
}

func (d *busyThread) runs(want string) {
	d.T.Helper()
	rig.Eventually(d.T, "the runs are "+want, func() bool { return d.statuses() == want })
}

// outcomes has a check of the second request's result for each strategy.
var outcomes = map[string]func(*busyThread){
	"reject": func(d *busyThread) {
		if a := <-d.second; a.Status != http.StatusConflict || !strings.Contains(string(a.Body), "busy") {
			d.T.Errorf("response %d: %s", a.Status, a.Body)
		}
		d.gate.Open()
		d.runs("success")
	},
	"enqueue": func(d *busyThread) {
		d.runs("running pending")
		d.gate.Open()
		(<-d.second).OK()
		d.runs("success success")
	},
	"interrupt": func(d *busyThread) {
		(<-d.second).OK()
		d.runs("interrupted success")
	},
	"rollback": func(d *busyThread) {
		(<-d.second).OK()
		d.runs("success")
		d.Get(d.first).Is(http.StatusNotFound)
	},
	"concurrent": func(d *busyThread) {
		(<-d.second).OK()
		d.runs("running success")
		d.Expect(d.at, "status", "busy")
		d.gate.Open()
		d.runs("success success")
		if n := len(d.Get(d.at + "/state").OK().List("values.messages")); n < 7 { // both may have sent hi under one id
			d.T.Errorf("%d messages, want those of both runs", n)
		}
		if n := len(d.Get(d.at + "/history?limit=100").OK().List("")); n < 8 {
			d.T.Errorf("%d checkpoints", n)
		}
	},
}

// TestStrategies checks that every route that starts a run on a thread supports every strategy, and has a default.
func TestStrategies(t *testing.T) {
	t.Parallel()
	sharing := func(a *config.Agent) { a.AllowConcurrent = true }
	for _, c := range creators {
		for _, s := range []string{"", "reject", "enqueue", "interrupt", "rollback", "concurrent"} {
			t.Run(c.name+"/"+s, func(t *testing.T) {
				t.Parallel()
				d := newBusyThread(t, c, s, sharing)
				effect := s
				if s == "" {
					effect = c.fallback
				}
				outcomes[effect](d)
				d.Expect(d.at, "status", "idle")
			})
		}
		t.Run(c.name+"/concurrent is off", func(t *testing.T) {
			t.Parallel()
			d := newBusyThread(t, c, "concurrent")
			want := http.StatusUnprocessableEntity
			if strings.Contains(c.path, "topics") {
				want = http.StatusBadRequest
			}
			if a := <-d.second; a.Status != want || !strings.Contains(string(a.Body), "allow_concurrent") {
				t.Errorf("response %d: %s", a.Status, a.Body)
			}
			d.gate.Open()
			d.runs("success")
		})
	}
}

// A run whose request specifies no strategy uses its agent's configured strategy.
func TestDefaultStrategyOfAnAgent(t *testing.T) {
	t.Parallel()
	protocol := creators[3] // the documents of its clients have reject
	for set, effect := range map[string]string{"enqueue": "enqueue", "interrupt": "interrupt", "auto": "reject"} {
		t.Run(set, func(t *testing.T) {
			t.Parallel()
			d := newBusyThread(t, protocol, "", func(a *config.Agent) { a.Multitask = set })
			outcomes[effect](d)
		})
	}
	t.Run("a request with reject", func(t *testing.T) {
		t.Parallel()
		d := newBusyThread(t, protocol, "reject", func(a *config.Agent) { a.Multitask = "enqueue" })
		outcomes["reject"](d)
	})
}

// A batch creates its runs one by one, each with the same result as alone.
func TestStrategiesInABatch(t *testing.T) {
	t.Parallel()
	b := rig.InFront(t, adaptertest.NewStepAgent(adaptertest.Plain), func(a *config.Agent) { a.AllowConcurrent = true })
	got := b.Post("/runs/batch", `[{"assistant_id":"agent","multitask_strategy":"concurrent",`+rig.SaysHi+`},{"assistant_id":"agent","multitask_strategy":"enqueue",`+rig.SaysHi+`}]`).OK()
	for i, want := range []string{"concurrent", "enqueue"} {
		if got := got.Text(fmt.Sprintf("%d.multitask_strategy", i)); got != want {
			t.Errorf("run %d has the result %s", i, got)
		}
	}
}
