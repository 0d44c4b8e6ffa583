package trace_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/trace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
	"google.golang.org/protobuf/proto"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// collecting returns a Tracer that sends to url, with more variables, and its log.
func collecting(t *testing.T, url string, more ...string) (*trace.Tracer, *observer.ObservedLogs) {
	t.Helper()
	s, err := trace.Read(append([]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=" + url, "OTEL_BSP_SCHEDULE_DELAY=1"}, more...))
	if err != nil {
		t.Fatal(err)
	}
	core, logs := observer.New(zapcore.DebugLevel)
	tr := trace.New(s, "test", zap.New(core))
	t.Cleanup(func() { tr.Close(t.Context()) })
	return tr, logs
}

func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// tick creates one span.
func tick(tr *trace.Tracer) {
	_, end := tr.Cron(context.Background(), "c")
	end(nil)
}

func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	late, every := time.After(time.Minute), time.NewTicker(time.Millisecond)
	defer every.Stop()
	for !holds() {
		select {
		case <-every.C:
		case <-late:
			t.Fatalf("timed out waiting for: %s", what)
		}
	}
}

// TestBrokenCollectors checks that spans are lost without waiting, and that this is logged once.
func TestBrokenCollectors(t *testing.T) {
	t.Parallel()
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = gone.Close()
	for name, c := range map[string]struct{ url, says, timeout string }{
		"dead":     {"http://" + gone.Addr().String(), "refused", "10000"},
		"silent":   {serve(t, silent), "deadline", "50"},
		"refusing": {serve(t, status(400, "", "")), "400 Bad Request", "10000"},
		"redirecting": {serve(t, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		}), "307", "10000"},
		"a page":       {serve(t, status(200, "text/html; charset=utf-8", "<html>secret")), `"text/html"`, "10000"},
		"not OTLP":     {serve(t, status(200, "application/x-protobuf", "<html>secret")), "not OTLP", "10000"},
		"always later": {serve(t, status(503, "", "")), "503", "1000"},
		"endless":      {serve(t, pour), `"application/octet-stream"`, "10000"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr, logs := collecting(t, c.url, "OTEL_EXPORTER_OTLP_TIMEOUT="+c.timeout, "OTEL_BSP_MAX_QUEUE_SIZE=8", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE=4")
			for range 1000 {
				tick(tr)
			}
			await(t, "a problem", func() bool { return logs.Len() > 0 })
			for range 1000 {
				tick(tr)
			}
			tr.Close(t.Context())
			said := logs.All()
			if len(said) != 1 {
				t.Errorf("logged %d times", len(said))
			}
			why, _ := said[0].ContextMap()["error"].(string)
			if !strings.Contains(why, c.says) || strings.Contains(why, "secret") {
				t.Errorf("%s: %s", said[0].Message, why)
			}
		})
	}
}

func status(code int, kind, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if kind != "" {
			w.Header().Set("Content-Type", kind)
		}
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	}
}

func silent(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}

func pour(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/octet-stream")
	for r.Context().Err() == nil {
		if _, err := io.WriteString(w, strings.Repeat("x", 1<<16)); err != nil {
			return
		}
	}
}

// TestBatchesAreRetried checks the retries that the specification of OTLP allows.
func TestBatchesAreRetried(t *testing.T) {
	t.Parallel()
	for _, code := range []int{429, 502, 503, 504} {
		var tries, spans atomic.Int32
		url := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if tries.Add(1) == 1 {
				w.WriteHeader(code)
				return
			}
			spans.Add(int32(len(read(t, r)))) //nolint:gosec // few
		})
		tr, logs := collecting(t, url)
		tick(tr)
		await(t, "the second try", func() bool { return spans.Load() == 1 })
		if logs.Len() != 0 {
			t.Errorf("%d: %v", code, logs.All())
		}
	}
}

func read(t *testing.T, r *http.Request) (list []*tracepb.Span) {
	t.Helper()
	raw, err := io.ReadAll(r.Body)
	var all tracepb.TracesData
	if err == nil {
		err = proto.Unmarshal(raw, &all)
	}
	if err != nil {
		t.Error(err)
	}
	for _, of := range all.GetResourceSpans() {
		for _, by := range of.GetScopeSpans() {
			list = append(list, by.GetSpans()...)
		}
	}
	return list
}

// TestPartialRejectionsAreLogged checks that the collector's reason for rejected spans is logged.
func TestPartialRejectionsAreLogged(t *testing.T) {
	t.Parallel()
	const partial = "\x0a\x09\x08\x02\x12\x05quota" // partial_success: rejected_spans 2, error_message "quota"
	tr, logs := collecting(t, serve(t, status(200, "application/x-protobuf", partial)))
	tick(tr)
	await(t, "the warning", func() bool { return logs.Len() > 0 })
	if why := logs.All()[0].ContextMap()["why"]; why != "quota" {
		t.Errorf("why: %v", why)
	}
}

// TestCloseSendsTheRest checks that ended spans are sent before the process ends, within the time limit.
func TestCloseSendsTheRest(t *testing.T) {
	t.Parallel()
	var spans atomic.Int32
	url := serve(t, func(_ http.ResponseWriter, r *http.Request) { spans.Add(int32(len(read(t, r)))) }) //nolint:gosec // few
	tr, _ := collecting(t, url, "OTEL_BSP_SCHEDULE_DELAY=1000000")
	for range 600 {
		tick(tr)
	}
	tr.Close(t.Context())
	if n := spans.Load(); n != 600 {
		t.Errorf("%d spans arrived", n)
	}
	tr, _ = collecting(t, serve(t, silent), "OTEL_BSP_SCHEDULE_DELAY=1000000")
	tick(tr)
	over, stop := context.WithCancel(t.Context())
	stop()
	tr.Close(over)
}

// TestNoTracerCostsNothing checks that there are no spans and no cost without a collector.
func TestNoTracerCostsNothing(t *testing.T) {
	var tr *trace.Tracer
	ctx, r, run := mapping.WithTrace(t.Context(), mapping.ReadTrace("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "")), httptest.NewRequest("GET", "/", nil), &mapping.Run{}
	if n := testing.AllocsPerRun(100, func() {
		_, request := tr.Request(r)
		_, span := tr.Run(ctx, run, false)
		span.Event("begun", "taken", "false")
		_, end := tr.UpstreamCall(ctx, "agent", "step", "POST", "http://agent")
		tr.Tell(ctx, r.Header)
		end(200, "ok")
		span.End(trace.Ended{})
		request.End("GET", trace.Answer{})
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	tr.Close(t.Context())
}
