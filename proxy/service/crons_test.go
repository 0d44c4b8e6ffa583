package service_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/proxy/engine"
	"github.com/apbridge/apbridge/proxy/eventlog"
	"github.com/apbridge/apbridge/proxy/maintenance"
	"github.com/apbridge/apbridge/proxy/service"
	"github.com/apbridge/apbridge/proxy/service/servicetest"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/apbridge/apbridge/proxy/store/storetest"
	"github.com/apbridge/apbridge/proxy/trace"
	"go.uber.org/zap"
)

// cronAgent answers at once, unless told to hold.
type cronAgent struct{ hold chan struct{} }

func (cronAgent) Traits() adapter.Traits {
	return adapter.Traits{Exposes: mapping.ExposesNothing, Stepping: mapping.SteppingFree}
}

func (a cronAgent) Run(ctx context.Context, t *adapter.Assignment) iter.Seq2[mapping.Event, error] {
	return func(yield func(mapping.Event, error) bool) {
		if a.hold != nil {
			select {
			case <-a.hold:
			case <-ctx.Done():
				yield(mapping.Event{}, context.Cause(ctx))
				return
			}
		}
		step := rule.StepUpdate(t.Run.ID, t.TaskID, 1, mapping.StepInfo{Output: json.RawMessage(`"done"`), SaysLast: true}, nil, mapping.ApprovalAuto)
		end := mapping.Event{Kind: mapping.KindEnd, Head: mapping.Head{Outcome: &mapping.Outcome{Status: mapping.RunSuccess}}}
		_ = yield(mapping.Event{Kind: mapping.KindLinked, Head: mapping.Head{Link: &mapping.Link{Remote: "up"}}}, nil) && yield(step, nil) && yield(end, nil)
	}
}

type cronMeter struct{}

func (cronMeter) RunStarted(string)                          {}
func (cronMeter) RunWaited(string, time.Duration)            {}
func (cronMeter) StepTaken(string, time.Duration)            {}
func (cronMeter) EventsLogged(string, int, int64)            {}
func (cronMeter) RunEnded(string, mapping.RunStatus, string) {}

// clockwork is a complete bridge without faces that runs on a fake clock, so that sleeping costs nothing.
type clockwork struct {
	adapter.Service
	st      *store.Store
	close   func()
	records *witness
}

func wind(t *testing.T, path string, a adapter.Backend, keys ...config.Key) *clockwork {
	t.Helper()
	return windTraced(t, path, a, nil, keys...)
}

func windTraced(t *testing.T, path string, a adapter.Backend, tr *trace.Tracer, keys ...config.Key) *clockwork {
	t.Helper()
	st, err := store.Open(t.Context(), path, store.Options{Synchronous: storetest.Synchronous(), Passed: storetest.Passed()}, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	log, err := eventlog.New(st)
	if err != nil {
		t.Fatal(err)
	}
	cfg := config.Default()
	cfg.DefaultAgent = "a"
	cfg.Auth.Keys = keys
	agents := map[string]*engine.Agent{}
	for _, name := range []string{"a", "b"} {
		cfg.Agents[name] = config.DefaultAgent()
		agents[name] = engine.NewAgent(name, cfg.Agents[name], a)
	}
	records := &witness{}
	e := engine.New(st, log, cfg, agents, cronMeter{}, servicetest.Dialects(), zap.NewNop(), engine.WithTracer(tr), engine.WithAudit(records.record()))
	svc, err := service.New(st, log, e, servicetest.Dialects(), zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	e.AddBackground(maintenance.NewRetention(st.Retention, st.Runs, log, e, func() config.Retention { return cfg.Retention }, zap.NewNop()))
	if err := e.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return &clockwork{svc, st, func() {
		ctx, stop := context.WithCancel(context.Background())
		stop()
		e.Shutdown(ctx)
		_ = st.Close()
	}, records}
}

// witness records what is done in the background.
type witness struct {
	mu    sync.Mutex
	lines []string
}

func (w *witness) record() *mapping.AuditRecord {
	return &mapping.AuditRecord{Background: true, Also: func(ctx context.Context, d *mapping.AuditRecord, kind string, err error) {
		verb, objects := d.Said()
		w.mu.Lock()
		defer w.mu.Unlock()
		w.lines = append(w.lines, fmt.Sprint(mapping.PrincipalOf(ctx).ID, " ", verb, " ", kind, " ", objects, " ", err))
	}}
}

// Each tick is recorded once, with the cron, the run and its thread, for the key that created the cron.
func TestRunOfACronIsAudited(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, path string) {
		w := wind(t, path, cronAgent{}, config.Key{ID: "alice", Key: "alice-0123456789abcdef"})
		defer w.close()
		ctx := mapping.WithPrincipal(t.Context(), mapping.Principal{ID: "alice"})
		c, err := w.CreateCron(ctx, everyHour())
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(2*time.Hour + time.Second)
		synctest.Wait()
		w.records.mu.Lock()
		defer w.records.mu.Unlock()
		if len(w.records.lines) != 2 {
			t.Fatalf("audit lines %q, want 2", w.records.lines)
		}
		for _, line := range w.records.lines {
			if !strings.HasPrefix(line, "alice created run [{cron "+c.ID+"} {thread ") || !strings.Contains(line, "} {run ") || !strings.HasSuffix(line, " <nil>") {
				t.Errorf("audit line %s", line)
			}
		}
	})
}

func inBubble(t *testing.T, f func(t *testing.T, path string)) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.db")
	synctest.Test(t, func(t *testing.T) { f(t, path) })
}

func everyHour() adapter.CronRequest {
	return adapter.CronRequest{
		Run: adapter.RunRequest{
			Agent: "a", Flavour: "langgraph", Input: json.RawMessage(`{"messages":[{"role":"user","content":"hi"}]}`), HasInput: true,
			Kwargs: json.RawMessage(`{"input":{"messages":[{"role":"user","content":"hi"}]}}`), Metadata: json.RawMessage(`{"m":1}`),
		},
		Payload: json.RawMessage(`{"assistant_id":"a"}`), Schedule: "0 * * * *", Enabled: true, Keep: true,
	}
}

func (w *clockwork) cron(t *testing.T, n adapter.CronRequest) mapping.Cron {
	t.Helper()
	c, err := w.CreateCron(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (w *clockwork) runs(t *testing.T) []mapping.Run {
	t.Helper()
	synctest.Wait()
	list, err := adapter.All(w.ListRuns(t.Context(), mapping.RunQuery{}))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func (w *clockwork) want(t *testing.T, n int, when string) {
	t.Helper()
	if got := len(w.runs(t)); got != n {
		t.Fatalf("%s: %d runs, want %d", when, got, n)
	}
}

func TestCronCreatesARunAtEveryTick(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, path string) {
		w := wind(t, path, cronAgent{})
		defer w.close()
		c := w.cron(t, everyHour())
		if want := time.Now().Truncate(time.Hour).Add(time.Hour).UTC(); !c.Next.Equal(want) {
			t.Errorf("next %s, want %s", c.Next, want)
		}
		w.want(t, 0, "before the first tick")
		time.Sleep(time.Hour + time.Second)
		w.want(t, 1, "after the first tick")
		time.Sleep(2 * time.Hour)
		w.want(t, 3, "after two more")
		r := w.runs(t)[0]
		var m map[string]any
		_ = json.Unmarshal(r.Metadata, &m)
		if r.Status != mapping.RunSuccess || m["cron_id"] != c.ID || m["m"] != 1.0 {
			t.Errorf("run %s, metadata %s", r.Status, r.Metadata)
		}
		if err := w.DeleteCron(t.Context(), c.ID); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Hour)
		w.want(t, 3, "after it was deleted")
	})
}

func TestCronSurvivesARestartAndCatchesUpOnce(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, path string) {
		w := wind(t, path, cronAgent{})
		c := w.cron(t, everyHour())
		time.Sleep(time.Hour + time.Second)
		w.want(t, 1, "before the restart")
		w.close()
		time.Sleep(10 * time.Hour)
		w = wind(t, path, cronAgent{})
		defer w.close()
		time.Sleep(time.Second)
		w.want(t, 2, "after ten missed ticks")
		time.Sleep(time.Hour)
		w.want(t, 3, "after the next tick")
		got, err := w.GetCron(t.Context(), c.ID)
		if err != nil || !got.Next.After(time.Now()) || got.Error != "" {
			t.Errorf("got %+v, %v", got, err)
		}
	})
}

func TestThreadsOfCronsAreDeletedUnlessKept(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, path string) {
		w := wind(t, path, cronAgent{})
		defer w.close()
		n := everyHour()
		n.Keep = false
		w.cron(t, n)
		time.Sleep(time.Hour + time.Second)
		w.want(t, 1, "right after the tick")
		time.Sleep(59 * time.Minute)
		w.want(t, 1, "before the next tick")
		time.Sleep(time.Minute + 10*time.Second)
		w.want(t, 1, "once the first run's thread is removed")
	})
}

func TestCronOnAThread(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, path string) {
		hold := make(chan struct{})
		w := wind(t, path, cronAgent{hold: hold})
		defer w.close()
		th, err := w.CreateThread(t.Context(), adapter.ThreadRequest{})
		if err != nil {
			t.Fatal(err)
		}
		n := everyHour()
		n.Schedule, n.Run.ThreadID = "*/10 * * * *", th.ID
		c := w.cron(t, n)
		time.Sleep(25 * time.Minute)
		w.want(t, 1, "while its first run lasts")
		if got, err := w.GetCron(t.Context(), c.ID); err != nil || got.Error == "" {
			t.Errorf("a tick on a busy thread is not reported: %+v, %v", got, err)
		}
		close(hold)
		if r := w.runs(t)[0]; r.ThreadID != th.ID || r.Status != mapping.RunSuccess {
			t.Errorf("run %s on thread %s", r.Status, r.ThreadID)
		}
		time.Sleep(10 * time.Minute)
		w.want(t, 2, "after another tick")
		if got, err := w.GetCron(t.Context(), c.ID); err != nil || got.Error != "" {
			t.Errorf("got %+v, %v", got, err)
		}
		if err := w.DeleteThread(t.Context(), th.ID); err != nil {
			t.Fatal(err)
		}
		if _, err := w.GetCron(t.Context(), c.ID); mapping.Classify(err).Class != mapping.NotFound {
			t.Errorf("the cron of a deleted thread: %v", err)
		}
	})
}

func TestCronIsChanged(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, path string) {
		w := wind(t, path, cronAgent{})
		defer w.close()
		n := everyHour()
		c := w.cron(t, n)
		change := func() mapping.Cron {
			t.Helper()
			got, err := w.UpdateCron(t.Context(), c.ID, n)
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		n.Enabled = false
		if got := change(); !got.Next.IsZero() || got.Enabled {
			t.Errorf("after switching it off: %+v", got)
		}
		time.Sleep(3 * time.Hour)
		w.want(t, 0, "while it is off")
		n.Enabled, n.Schedule = true, "*/10 * * * *"
		change()
		time.Sleep(10*time.Minute + time.Second)
		w.want(t, 1, "after a tick of the new schedule")
		n.End = time.Now().Add(15 * time.Minute)
		change()
		time.Sleep(time.Hour)
		w.want(t, 2, "after its end")
		if got, _ := w.GetCron(t.Context(), c.ID); !got.Next.IsZero() || !got.Enabled {
			t.Errorf("after its end: %+v", got)
		}
	})
}

func TestCronIsRefusedIfItsRunsWouldBe(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, path string) {
		w := wind(t, path, cronAgent{})
		defer w.close()
		for name, c := range map[string]struct {
			change func(*adapter.CronRequest)
			class  mapping.Class
		}{
			"agent":    {func(n *adapter.CronRequest) { n.Run.Agent = "nobody" }, mapping.NotFound},
			"thread":   {func(n *adapter.CronRequest) { n.Run.ThreadID = mapping.NewID() }, mapping.NotFound},
			"webhook":  {func(n *adapter.CronRequest) { n.Run.Webhook = "http://169.254.169.254/" }, mapping.Invalid},
			"goto":     {func(n *adapter.CronRequest) { n.Run.Command = &adapter.Command{Goto: json.RawMessage(`"x"`)} }, mapping.Invalid},
			"schedule": {func(n *adapter.CronRequest) { n.Schedule = "now and then" }, mapping.Invalid},
			"timezone": {func(n *adapter.CronRequest) { n.Timezone = "Mars/Olympus" }, mapping.Invalid},
		} {
			n := everyHour()
			c.change(&n)
			if _, err := w.CreateCron(t.Context(), n); mapping.Classify(err).Class != c.class {
				t.Errorf("%s: %v, want %s", name, err, c.class)
			}
		}
		if _, total, err := w.SearchCrons(t.Context(), adapter.CronQuery{}); total != 0 || err != nil {
			t.Errorf("%d crons were stored although all were invalid, %v", total, err)
		}
	})
}

func TestCronsOfAnotherTenant(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, path string) {
		w := wind(t, path, cronAgent{})
		defer w.close()
		mine := mapping.WithPrincipal(t.Context(), mapping.Principal{ID: "me", Tenant: "a"})
		other := mapping.WithPrincipal(t.Context(), mapping.Principal{ID: "you", Tenant: "b"})
		c, err := w.CreateCron(mine, everyHour())
		if err != nil || c.Owner != "me" {
			t.Fatal(c, err)
		}
		_, got := w.GetCron(other, c.ID)
		_, updated := w.UpdateCron(other, c.ID, everyHour())
		for name, err := range map[string]error{"get": got, "update": updated, "delete": w.DeleteCron(other, c.ID)} {
			if mapping.Classify(err).Class != mapping.NotFound {
				t.Errorf("%s: %v", name, err)
			}
		}
		if list, total, err := w.SearchCrons(other, adapter.CronQuery{}); len(list)+total != 0 || err != nil {
			t.Errorf("got %v, %d, %v", list, total, err)
		}
		time.Sleep(time.Hour + time.Second)
		w.want(t, 0, "seen without a tenant")
		if list, err := adapter.All(w.ListRuns(mine, mapping.RunQuery{})); err != nil || len(list) != 1 || list[0].Tenant != "a" || list[0].Owner != "me" {
			t.Errorf("got %+v, %v", list, err)
		}
	})
}

// Another agent works on the thread of a cron. Keys that may not use that agent no longer see the thread. Neither do
// the ticks of their crons, even after the key has been removed. Keys that may use it, and a bridge without keys,
// continue.
func TestCronStopsIfItsKeyLosesAccess(t *testing.T) {
	t.Parallel()
	whole := config.Key{ID: "whole"}
	for name, c := range map[string]struct {
		key   string
		keys  []config.Key // at the time of the tick
		stops bool
	}{
		"a key for one agent":                    {"limited", []config.Key{whole, {ID: "limited", Agents: []string{"a"}}}, true},
		"a key for both agents":                  {"limited", []config.Key{whole, {ID: "limited", Agents: []string{"a", "b"}}}, false},
		"a key for all":                          {"whole", []config.Key{whole}, false},
		"a key that was removed":                 {"limited", []config.Key{whole}, true},
		"a key that has moved to another tenant": {"limited", []config.Key{whole, {ID: "limited", Tenant: "t"}}, true},
		"without keys":                           {"", nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T, path string) {
				w := wind(t, path, cronAgent{}, c.keys...)
				defer w.close()
				made := mapping.WithPrincipal(t.Context(), mapping.Principal{ID: c.key})
				th, err := w.CreateThread(made, adapter.ThreadRequest{})
				if err != nil {
					t.Fatal(err)
				}
				n := everyHour()
				n.Run.ThreadID = th.ID
				cr, err := w.CreateCron(made, n)
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Hour + time.Second)
				w.want(t, 1, "while the cron's agent is alone")
				join := everyHour().Run
				join.Agent, join.ThreadID = "b", th.ID
				if _, err := w.StartRun(t.Context(), new(join)); err != nil {
					t.Fatal(err)
				}
				time.Sleep(2 * time.Hour)
				runs := 4
				if c.stops {
					runs = 2
				}
				w.want(t, runs, "after two more ticks")
				got, err := w.GetCron(t.Context(), cr.ID)
				if err != nil || (got.Error != "") != c.stops || c.stops && !strings.Contains(got.Error, `"`+c.key+`"`) || !got.Next.After(time.Now()) {
					t.Errorf("error %q, next tick %s, %v", got.Error, got.Next, err)
				}
			})
		})
	}
}

// The run is part of the tick's trace, though no client requested it.
func TestSpanOfACronsRunIsBelowItsTick(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, path string) {
		unsent, err := trace.Read([]string{"OTEL_TRACES_EXPORTER=otlp", "OTEL_TRACES_SAMPLER=always_off"})
		if err != nil {
			t.Fatal(err)
		}
		tr := trace.New(unsent, "test", zap.NewNop())
		defer tr.Close(t.Context())
		w := windTraced(t, path, cronAgent{}, tr)
		defer w.close()
		w.cron(t, everyHour())
		time.Sleep(time.Hour + time.Second)
		runs, err := w.st.Runs.List(t.Context(), mapping.RunQuery{})
		if err != nil || len(runs) != 1 || runs[0].Options.Trace == nil || runs[0].Span().ID() == "" {
			t.Errorf("got %+v, %v", runs, err)
		}
	})
}

// A process that dies between creating a tick's run and recording it leaves the tick to be served again.
func TestCronTickServedTwiceCreatesOneRun(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, path string) {
		w := wind(t, path, cronAgent{})
		defer w.close()
		c := w.cron(t, everyHour())
		time.Sleep(time.Hour + time.Second)
		w.want(t, 1, "after the tick")
		now, err := w.GetCron(t.Context(), c.ID)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.st.Crons.Ticked(t.Context(), now, c.Next, ""); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Minute)
		w.want(t, 1, "after it was served again")
		if again, _ := w.GetCron(t.Context(), c.ID); !again.Next.Equal(now.Next) {
			t.Errorf("next %s, want %s", again.Next, now.Next)
		}
	})
}
