package trace_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/mapping"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

// TestSpansOfCallsContainNoSecrets checks that spans contain no secret parts of an agent's or a receiver's URL.
func TestSpansOfCallsContainNoSecrets(t *testing.T) {
	t.Parallel()
	came := make(chan *tracepb.Span, 8)
	tr, _ := collecting(t, serve(t, func(_ http.ResponseWriter, r *http.Request) {
		for _, s := range read(t, r) {
			came <- s
		}
	}))
	_, end := tr.UpstreamCall(t.Context(), "agent", "step", "POST", "https://me:secret@agent.example/there?key=secret#secret")
	end(500, "error")
	_, end = tr.Delivery(t.Context(), mapping.NewID(), "https://me:secret@hook.example:444/secret?key=secret", 1)
	end(200, "")
	call, delivery := (<-came).String(), (<-came).String()
	if strings.Contains(call+delivery, "secret") || !strings.Contains(call, `"https://agent.example/there"`) || !strings.Contains(delivery, `"https://hook.example:444"`) {
		t.Errorf("%s\n%s", call, delivery)
	}
}

// TestErrorsOfSpans checks that an unusable response is an error, but not a missing object or a call that the bridge
// itself ended.
func TestErrorsOfSpans(t *testing.T) {
	t.Parallel()
	came := make(chan *tracepb.Span, 8)
	tr, _ := collecting(t, serve(t, func(_ http.ResponseWriter, r *http.Request) {
		for _, s := range read(t, r) {
			came <- s
		}
	}))
	for _, c := range []struct {
		method, outcome string
		status          int
		failed          bool
	}{
		{"POST", "ok", 200, false}, {"POST", "error", 500, true}, {"POST", "refused", 404, true}, {"GET", "refused", 404, false},
		{"GET", "refused", 401, true}, {"GET", "unreachable", 0, true}, {"GET", "broken", 200, true}, {"GET", "stopped", 0, false},
		{"GET", "refused", 304, false}, {"POST", "refused", 303, false},
	} {
		_, end := tr.UpstreamCall(t.Context(), "agent", "read", c.method, "http://agent.example")
		end(c.status, c.outcome)
		end(500, "again")
		if s := <-came; (s.GetStatus().GetCode() == tracepb.Status_STATUS_CODE_ERROR) != c.failed {
			t.Errorf("%+v: %s", c, s)
		}
	}
}
