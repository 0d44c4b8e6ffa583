package threadrun

import (
	"fmt"
	"net/http"
	"path"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/examples/legacyagent"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
)

const runLogKey = "0123456789abcdef"

// logged returns a line of the log about a run, or nil if there is none.
func logged(b *rig.Bridge, message, run string) *observer.LoggedEntry {
	for _, e := range b.Logs.All() {
		if strings.HasPrefix(e.Message, message) && e.ContextMap()["run"] == run {
			return &e
		}
	}
	return nil
}

// A run is found in the log by its id: when it begins, parks and ends, its principal, and the request that created it.
// Its contents are not logged.
func TestRunsAreLogged(t *testing.T) {
	t.Parallel()
	b := rig.Configured(t, `
agents: {legacy: {url: $LEGACY}, away: {url: 'http://127.0.0.1:1', dialect: taskstep}}
default_agent: legacy
auth: {keys: [{id: app, key: '`+runLogKey+`'}]}`, map[string]http.Handler{"legacy": legacyagent.Handler()})
	const said = "a word that is nobody's business"
	begin := func(agent, request string) (thread, run string) {
		head := []string{"x-api-key", runLogKey, "X-Request-Id", request}
		thread = b.Do("POST", "/threads", `{}`, head...).OK().Text("thread_id")
		run = b.Do("POST", "/threads/"+thread+"/runs", `{"assistant_id":"`+agent+`","input":"`+said+`"}`, head...).OK().Text("run_id")
		return thread, run
	}
	for _, x := range []struct {
		agent, status, code string
		level               zapcore.Level
		steps               int64
	}{{"legacy", "success", "", zapcore.InfoLevel, 3}, {"away", "error", "upstream_unreachable", zapcore.WarnLevel, 0}} {
		request := "request-of-" + x.agent
		thread, run := begin(x.agent, request)
		rig.Eventually(t, "the end is logged", func() bool { return logged(b, "run ended", run) != nil })
		for _, message := range []string{"run started", "run ended"} {
			e := logged(b, message, run)
			if e == nil {
				t.Fatalf("%s: there is no line %q", x.agent, message)
			}
			for name, want := range map[string]string{"thread": thread, "task": run, "agent": x.agent, "key": "app", "request_id": request} {
				if got := e.ContextMap()[name]; got != want {
					t.Errorf("%s: %s is %v, want %s", message, name, got, want)
				}
			}
		}
		e := logged(b, "run ended", run)
		if c := e.ContextMap(); e.Level != x.level || c["status"] != x.status || c["code"] != x.code || c["steps"] != x.steps || c["took"] == nil {
			t.Errorf("%s ended with %s %v", x.agent, e.Level, c)
		}
		rig.Eventually(t, "the request is logged", func() bool {
			e := logged(b, "request", run)
			return e != nil && e.ContextMap()["request_id"] == request
		})
	}
	head := []string{"x-api-key", runLogKey}
	task := b.Do("POST", "/ap/v1/agent/tasks", `{"input":"`+said+`"}`, head...).OK().Text("task_id")
	b.Do("POST", "/ap/v1/agent/tasks/"+task+"/steps", ``, head...).OK()
	run := b.Do("POST", "/runs/search", `{"thread_id":"`+task+`"}`, head...).OK().Text("0.run_id")
	rig.Eventually(t, "the parked run is logged", func() bool { return logged(b, "run parked", run) != nil })
	b.Do("POST", "/runs/"+run+"/cancel?wait=1", ``, head...).OK()
	if e := logged(b, "run ended", run); e == nil || e.ContextMap()["status"] != "interrupted" {
		t.Errorf("a parked run that is cancelled: %v", e)
	}
	for _, e := range b.Logs.All() {
		if text := e.Message + fmt.Sprint(e.ContextMap()); strings.Contains(text, said) || strings.Contains(text, runLogKey) {
			t.Errorf("the log contains %s", text)
		}
	}
}

// When a process stops, the next one resumes its runs. Both processes log this. Each process logs its configuration.
func TestTakeoversAreLogged(t *testing.T) {
	t.Parallel()
	asked, goOn := make(chan struct{}, 8), make(chan struct{})
	agent := legacyagent.Handler()
	held := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/steps") {
			asked <- struct{}{}
			select {
			case <-goOn:
			case <-r.Context().Done():
				return
			}
		}
		agent.ServeHTTP(w, r)
	})
	b := rig.Configured(t, "database: $DB\nagents: {agent: {url: $HELD, dialect: taskstep}}", map[string]http.Handler{"held": held})
	run := path.Base(b.Begin(b.Thread(), ""))
	<-asked
	b.End()
	for _, message := range []string{"creating a new database", "configuration in force", "shutting down"} {
		if b.Logs.Filter(func(e observer.LoggedEntry) bool { return strings.HasPrefix(e.Message, message) }).Len() != 1 {
			t.Errorf("not logged exactly once: %s", message)
		}
	}
	if logged(b, "run handed over", run) == nil {
		t.Error("the hand-over is not logged")
	}
	close(goOn)
	core, logs := observer.New(zapcore.InfoLevel)
	next := rig.StartLogging(t, b.Cfg, zap.New(core))
	next.Logs = logs
	rig.Eventually(t, "the run ends", func() bool { return logged(next, "run ended", run) != nil })
	taken := logged(next, "run taken over", run)
	if taken == nil || logged(next, "run started", run) != nil {
		t.Fatal("the next process does not log that it resumes the run")
	}
	from, first := taken.ContextMap()["from"], b.Logs.FilterMessage("serving").All()[0].ContextMap()["process"]
	if own := next.Logs.FilterMessage("serving").All()[0].ContextMap()["process"]; from != first || from == "" || from == own {
		t.Errorf("the run is resumed from %v; the processes are %v and %v", from, first, own)
	}
}
