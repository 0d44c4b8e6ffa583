package trace_test

import (
	"errors"
	"net/http"
	"testing"

	"github.com/apbridge/apbridge/mapping"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

// TestEachTickOfACronHasATrace checks that each tick of a cron has a separate trace, since no request created its runs.
func TestEachTickOfACronHasATrace(t *testing.T) {
	t.Parallel()
	came := make(chan *tracepb.Span, 8)
	tr, _ := collecting(t, serve(t, func(_ http.ResponseWriter, r *http.Request) {
		for _, s := range read(t, r) {
			came <- s
		}
	}))
	one, end := tr.Cron(t.Context(), "c")
	end(nil)
	two, end := tr.Cron(t.Context(), "c")
	end(errors.New("secret"))
	if a, b := mapping.TraceOf(one).ID(), mapping.TraceOf(two).ID(); a == "" || a == b {
		t.Errorf("traces %q and %q", a, b)
	}
	good, bad := <-came, <-came
	if len(good.GetParentSpanId()) != 0 || good.GetStatus().GetCode() != tracepb.Status_STATUS_CODE_UNSET ||
		bad.GetStatus().GetCode() != tracepb.Status_STATUS_CODE_ERROR || bad.GetStatus().GetMessage() != mapping.CodeInternal {
		t.Errorf("%s, then %s", good, bad)
	}
}
