package face

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/zap"
)

// TestRequestThatTheBridgeGivesUpIsAnswered checks that clients that are still connected when the bridge stops get a
// response, and disconnected clients do not.
func TestRequestThatTheBridgeGivesUpIsAnswered(t *testing.T) {
	t.Parallel()
	for cause, status := range map[error]int{errors.New("the bridge is shutting down"): http.StatusServiceUnavailable, nil: http.StatusOK} {
		ctx, end := context.WithCancelCause(t.Context())
		end(cause)
		w := httptest.NewRecorder()
		s := &server{log: zap.NewNop()}
		s.fail(w, httptest.NewRequest(http.MethodPost, "/runs", nil).WithContext(ctx), ctx.Err())
		if w.Code != status || cause != nil && (!strings.Contains(w.Body.String(), `"shutting_down"`) || w.Header().Get("Retry-After") == "") {
			t.Errorf("%v: %d %s", cause, w.Code, w.Body)
		}
	}
}
