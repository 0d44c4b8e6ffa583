package operate

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/config"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// These are the trace and the span of oneParent and otherParent.
const (
	oneTrace, oneSpan     = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	otherTrace, otherSpan = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
)

func traced(t *testing.T, agent http.Handler, c *rig.Collector, change ...func(*config.Agent)) *rig.Bridge {
	t.Helper()
	url := adaptertest.Serve(t, agent).URL
	return rig.StartTraced(t, rig.ConfigFor(t, map[string]config.Agent{"agent": rig.AgentAt(url, change...)}), c, zap.NewNop())
}

// below fails the test unless a span is in the trace, directly below the other.
func below(t *testing.T, s rig.Span, trace, parent string) {
	t.Helper()
	if s.Trace() != trace || s.Parent() != parent {
		t.Errorf("%s is in trace %s below %s, want %s below %s", s.GetName(), s.Trace(), s.Parent(), trace, parent)
	}
}

// TestOneTraceFromRequestToAgent checks that the client's span is above the request's, that above the run's, and that
// above one for each call of the agent, which receives that span.
func TestOneTraceFromRequestToAgent(t *testing.T) {
	t.Parallel()
	for name, agent := range rig.EitherKind() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, peer := rig.NewCollector(t), &origins{Handler: agent()}
			b := traced(t, peer, c, rig.Whole)
			peer.calls()
			b.Do("POST", "/runs/wait?x=secret-query", rig.OneRun, append(from("one", oneParent), "Authorization", "Bearer secret-header", "Baggage", "user=secret-baggage")...).OK()
			request, run := c.Await(t, "POST /runs/wait", ""), c.Await(t, "run agent", "")
			below(t, request, oneTrace, oneSpan)
			below(t, run, oneTrace, request.ID())
			b.End()
			calls := c.Spans(func(s rig.Span) bool { return s.Has["apbridge.operation"] != "" && s.Parent() == run.ID() })
			var told []string
			for _, s := range calls {
				below(t, s, oneTrace, run.ID())
				told = append(told, "one "+s.TraceParent()+" congo=t61rcWkgMzE")
			}
			got := slices.DeleteFunc(peer.calls(), func(call string) bool { return !slices.Contains(told, call) })
			if len(told) == 0 || len(got) != len(told) {
				t.Errorf("%d calls of the agent have one of %d spans", len(got), len(told))
			}
			if run.Has["apbridge.run.status"] != "success" || run.Has["apbridge.agent"] != "agent" || run.GetTraceState() != "congo=t61rcWkgMzE" {
				t.Errorf("the run: %v", run)
			}
			keepsSecrets(t, c)
		})
	}
}

// keepsSecrets checks that no span contains parts of a header, a query or a body.
func keepsSecrets(t *testing.T, c *rig.Collector) {
	t.Helper()
	for _, s := range c.Spans(nil) {
		if text := s.String(); strings.Contains(text, "secret-") || strings.Contains(text, `"hi"`) {
			t.Errorf("a span contains %s", text)
		}
	}
}

// TestQueuedRunsKeepTheirTrace checks that a run that waits in the database during a restart is below the request that
// created it, and that its span includes the wait.
func TestQueuedRunsKeepTheirTrace(t *testing.T) {
	t.Parallel()
	c, g := rig.NewCollector(t), rig.NewGate(adaptertest.NewStepAgent(adaptertest.Plain), rig.StepPosts, 1)
	b := traced(t, g, c, rig.Whole, func(a *config.Agent) { a.Concurrency = 1 })
	b.Begin(b.Thread(), "")
	g.Await(t)
	at := b.Thread()
	id := b.Do("POST", at+"/runs", rig.OneRun, from("queued", otherParent)...).OK().Text("run_id")
	request := c.Await(t, "POST /threads/{thread_id}/runs", id)
	b.Kill()
	g.Open()
	again := b.Again()
	again.Get(at + "/runs/" + id + "/join").OK()
	run := c.Await(t, "run agent", id)
	below(t, request, otherTrace, otherSpan)
	below(t, run, otherTrace, request.ID())
	if run.GetStartTimeUnixNano() >= request.GetEndTimeUnixNano() {
		t.Error("the run's span does not include its waiting time")
	}
}

// TestRunOfTwoProcessesIsOneSpan checks that a run that one process hands over and the next one ends has a single
// complete span.
func TestRunOfTwoProcessesIsOneSpan(t *testing.T) {
	t.Parallel()
	c, g := rig.NewCollector(t), rig.NewGate(adaptertest.NewStepAgent(adaptertest.Plain), rig.StepPosts, 1)
	b := traced(t, g, c, rig.Whole)
	at := b.Thread()
	id := b.Do("POST", at+"/runs", rig.OneRun, from("taken", oneParent)...).OK().Text("run_id")
	g.Await(t)
	b.End()
	g.Open()
	again := b.Again()
	again.Get(at + "/runs/" + id + "/join").OK()
	run := c.Await(t, "run agent", id)
	again.End()
	if n := len(c.Spans(func(s rig.Span) bool { return s.GetName() == "run agent" })); n != 1 || run.Trace() != oneTrace {
		t.Errorf("%d spans, %s", n, run)
	}
	if calls := c.Spans(func(s rig.Span) bool { return s.Parent() == run.ID() }); len(calls) < 2 {
		t.Errorf("%d calls of both processes", len(calls))
	}
}

// TestResumedRunsAreLinked checks that an answer is in the trace of its own request, with a link to the interrupted
// run.
func TestResumedRunsAreLinked(t *testing.T) {
	t.Parallel()
	for name, agent := range map[string]http.Handler{"opaque": rig.Curious(1), "stateful": rig.Asking(adaptertest.ChatPlay())} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := rig.NewCollector(t)
			b := traced(t, agent, c, rig.Whole)
			at := b.Thread()
			b.Do("POST", at+"/runs/wait", rig.OneRun, from("asks", oneParent)...).OK()
			asks := c.Await(t, "run agent", "interrupted")
			b.Do("POST", at+"/runs/wait", `{"assistant_id":"agent","command":{"resume":"blue"}}`, from("answers", otherParent)...).OK()
			answers := c.Await(t, "run agent", "success")
			if asks.Trace() != oneTrace || !asks.Happened("question") || answers.Trace() != otherTrace {
				t.Errorf("%s, then %s", asks, answers)
			}
			if want := []string{oneTrace + "-" + asks.ID()}; !slices.Equal(answers.Links(), want) {
				t.Errorf("linked to %s, want %s", answers.Links(), want)
			}
		})
	}
}

// TestStepsAreInTheirRequestsTraces checks that in lockstep the work for each POST is in its trace, with a link to the
// run.
func TestStepsAreInTheirRequestsTraces(t *testing.T) {
	t.Parallel()
	c := rig.NewCollector(t)
	b := traced(t, adaptertest.NewStepAgent(adaptertest.Plain), c, rig.Lockstep)
	task := "/ap/v1/agent/tasks/" + b.Post("/ap/v1/agent/tasks", `{"input":"hi"}`).OK().Text("task_id")
	b.Do("POST", task+"/steps", "", from("step-1", oneParent)...).OK()
	first := c.Await(t, "run agent", "parked")
	b.Do("POST", task+"/steps", "", from("step-2", otherParent)...).OK()
	rig.Eventually(t, "the second part", func() bool {
		return len(c.Spans(func(s rig.Span) bool { return s.GetName() == "run agent" && s.Trace() == otherTrace })) == 1
	})
	second := c.Spans(func(s rig.Span) bool { return s.GetName() == "run agent" && s.Trace() == otherTrace })[0]
	if first.Trace() != oneTrace || !first.Happened("parked") || !slices.Equal(second.Links(), []string{oneTrace + "-" + first.ID()}) {
		t.Errorf("%s, then %s", first, second)
	}
}

// TestRetriesAreEvents checks that a retried run has one span, with the retry as an event.
func TestRetriesAreEvents(t *testing.T) {
	t.Parallel()
	c := rig.NewCollector(t)
	b := traced(t, &adaptertest.StepAgent{Kind: adaptertest.Plain, Script: []adaptertest.ScriptStep{
		{Output: `"one"`}, {Output: `"two"`, Fault: adaptertest.HTML500}, {Output: `"three"`, Last: true},
	}}, c, rig.Whole)
	b.Do("POST", "/runs/wait", rig.OneRun, "X-Apbridge-Retries", "1")
	run := c.Await(t, "run agent", "")
	if !run.Happened("begun") || !run.Happened("retry") || run.Has["apbridge.run.attempts"] != "2" {
		t.Errorf("%s", run)
	}
}

// TestRunsCancelledWhileQueuedHaveASpan checks that a run that is cancelled while it waits also has a span.
func TestRunsCancelledWhileQueuedHaveASpan(t *testing.T) {
	t.Parallel()
	c := rig.NewCollector(t)
	b := traced(t, adaptertest.NewStepAgent(adaptertest.Plain), c)
	at := b.Thread()
	id := b.Do("POST", at+"/runs", `{"assistant_id":"agent","after_seconds":1000,`+rig.SaysHi+`}`, from("late", oneParent)...).OK().Text("run_id")
	b.Post(at+"/runs/"+id+"/cancel?wait=true", "")
	below(t, c.Await(t, "run agent", id), oneTrace, c.Await(t, "POST /threads/{thread_id}/runs", id).ID())
}

// TestDeliveriesAreInTheRunsTrace checks that a webhook is below the run, and that its receiver gets the span.
func TestDeliveriesAreInTheRunsTrace(t *testing.T) {
	t.Parallel()
	c, told := rig.NewCollector(t), make(chan string, 1)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { told <- r.Header.Get("Traceparent") }))
	t.Cleanup(hook.Close)
	agent := adaptertest.Serve(t, adaptertest.NewStepAgent(adaptertest.Plain)).URL
	cfg := rig.ConfigFor(t, map[string]config.Agent{"agent": rig.AgentAt(agent)})
	cfg.Webhooks.AllowPrivateNetworks = true
	b := rig.StartTraced(t, cfg, c, zap.NewNop())
	b.Do("POST", "/runs/wait", `{"assistant_id":"agent",`+rig.SaysHi+`,"webhook":"`+hook.URL+`/secret-path?secret-token"}`, from("hooked", oneParent)...).OK()
	delivery := c.Await(t, "POST webhook", "")
	below(t, delivery, oneTrace, c.Await(t, "run agent", "").ID())
	if got := <-told; got != delivery.TraceParent() {
		t.Errorf("the receiver got %q", got)
	}
	keepsSecrets(t, c)
}

// TestStreamsEndTheirSpans checks that a streamed response has one span until its end, and that a passthrough agent
// receives its span.
func TestStreamsEndTheirSpans(t *testing.T) {
	t.Parallel()
	c, peer := rig.NewCollector(t), &origins{Handler: adaptertest.NewStepAgent(adaptertest.Plain)}
	g := rig.NewGate(peer, rig.StepPosts, 1)
	b := traced(t, g, c, rig.Whole, func(a *config.Agent) { a.Passthrough = true })
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _, _ = b.TryStream("POST", "/runs/stream", rig.OneRun, 0)
	}()
	g.Await(t)
	b.Get("/healthz").OK()
	peer.calls()
	b.Do("GET", "/agents/agent/upstream/else?secret-query", "", from("through", oneParent)...)
	through := c.Await(t, "GET passthrough", "")
	peer.want(t, "straight through", "through "+through.TraceParent()+" congo=t61rcWkgMzE")
	if early := c.Spans(func(s rig.Span) bool {
		return strings.HasSuffix(s.GetName(), "/runs/stream") || strings.Contains(s.GetName(), "healthz")
	}); len(early) > 0 {
		t.Errorf("spans of the open stream or of /healthz were exported: %s", early)
	}
	g.Open()
	<-done
	c.Await(t, "POST /runs/stream", "")
	keepsSecrets(t, c)
}

// TestLogsNameTheTrace checks that the log lines of requests and runs have the id of the trace.
func TestLogsNameTheTrace(t *testing.T) {
	t.Parallel()
	c := rig.NewCollector(t)
	core, logs := observer.New(zap.InfoLevel)
	agent := adaptertest.Serve(t, adaptertest.NewStepAgent(adaptertest.Plain)).URL
	b := rig.StartTraced(t, rig.ConfigFor(t, map[string]config.Agent{"agent": rig.AgentAt(agent)}), c, zap.New(core))
	b.Do("POST", "/runs/wait", rig.OneRun, from("logged", oneParent)...).OK()
	b.End()
	for _, line := range []string{"request", "run started", "run ended"} {
		if n := logs.FilterMessage(line).FilterField(zap.String("trace_id", oneTrace)).Len(); n != 1 {
			t.Errorf("%q is logged %d times with the trace", line, n)
		}
	}
}

// TestSilentCollectorDelaysNoRun checks that runs and the bridge end although the collector accepts no spans.
func TestSilentCollectorDelaysNoRun(t *testing.T) {
	t.Parallel()
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}))
	t.Cleanup(silent.Close)
	b := traced(t, adaptertest.NewStepAgent(adaptertest.Plain), &rig.Collector{URL: silent.URL}, rig.Whole)
	for range 5 {
		b.Do("POST", "/runs/wait", rig.OneRun).OK()
	}
	b.End()
}

// TestTracesFollowTheEnvironment checks resource, headers, compression, sampling and propagation.
func TestTracesFollowTheEnvironment(t *testing.T) {
	t.Parallel()
	c, peer := rig.NewCollector(t), &carried{Handler: adaptertest.NewStepAgent(adaptertest.Plain)}
	cfg := rig.ConfigFor(t, map[string]config.Agent{"agent": rig.AgentAt(adaptertest.Serve(t, peer).URL)})
	b := rig.StartTraced(t, cfg, c, zap.NewNop(), "OTEL_SERVICE_NAME=front", "OTEL_RESOURCE_ATTRIBUTES=service.name=else,deployment.environment.name=a%2Cb",
		"OTEL_EXPORTER_OTLP_HEADERS=x-key=a%20b", "OTEL_EXPORTER_OTLP_COMPRESSION=gzip", "OTEL_PROPAGATORS=tracecontext,baggage",
		"OTEL_TRACES_SAMPLER=parentbased_always_off")
	unsampled := strings.TrimSuffix(oneParent, "1") + "0"
	b.Do("POST", "/runs/wait", rig.OneRun, from("out", unsampled)...).OK()
	b.Do("POST", "/runs/wait", rig.OneRun).OK()
	b.Do("POST", "/runs/wait", rig.OneRun, append(from("in", otherParent), "Baggage", "user=7")...).OK()
	c.Await(t, "run agent", "in")
	b.End()
	if n := len(c.Spans(func(s rig.Span) bool { return s.Trace() != otherTrace })); n != 0 {
		t.Errorf("%d spans were exported although they are not sampled", n)
	}
	resource, header := c.Of()
	if resource["service.name"] != "front" || resource["deployment.environment.name"] != "a,b" || header.Get("X-Key") != "a b" || header.Get("Content-Encoding") != "gzip" {
		t.Errorf("resource %v, header %v", resource, header)
	}
	if _, came := peer.seen.Load("user=7"); !came {
		t.Error("the baggage did not reach the agent")
	}
}

// carried returns the baggage of calls that have some.
type carried struct {
	http.Handler
	seen sync.Map
}

func (c *carried) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if b := r.Header.Get("Baggage"); b != "" {
		c.seen.Store(b, true)
	}
	c.Handler.ServeHTTP(w, r)
}
