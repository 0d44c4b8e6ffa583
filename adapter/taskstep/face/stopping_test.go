package face

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter"
	"go.uber.org/zap"
)

// TestAbandonedStepIsAnswered checks that clients that are still connected when the bridge stops get a response, and
// that disconnected ones do not.
func TestAbandonedStepIsAnswered(t *testing.T) {
	t.Parallel()
	for cause, status := range map[error]int{errors.New("the bridge is shutting down"): http.StatusServiceUnavailable, nil: adapter.StatusClientGone} {
		ctx, end := context.WithCancelCause(t.Context())
		end(cause)
		w := httptest.NewRecorder()
		s := &server{face: adapter.Face{Log: zap.NewNop()}}
		s.fail(w, httptest.NewRequest(http.MethodPost, "/ap/v1/agent/tasks/t/steps", nil).WithContext(ctx), ctx.Err())
		if w.Code != status || cause != nil && (!strings.Contains(w.Body.String(), `"shutting_down"`) || w.Header().Get("Retry-After") == "") {
			t.Errorf("%v: %d %s", cause, w.Code, w.Body)
		}
	}
}
