package bridge

import (
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/mapping"
	"go.uber.org/zap"
)

// TestE17SlowUploadPassedThrough: a client's own slowness is not told as the agent's.
func TestE17SlowUploadPassedThrough(t *testing.T) {
	t.Parallel()
	slow := mapping.Errorf(mapping.TooSlow, "body_too_slow", "The upload was too slow.")
	slow.Err = os.ErrDeadlineExceeded
	w := httptest.NewRecorder()
	a := &App{log: zap.NewNop()}
	a.refusePassthrough(w, httptest.NewRequest("POST", "/agents/a/upstream/x", nil), 504, "Agent a did not begin to answer in time (step_timeout).",
		&url.Error{Op: "Post", URL: "http://agent", Err: slow})
	if w.Code != 408 || !strings.Contains(w.Body.String(), `"body_too_slow"`) || !strings.Contains(w.Body.String(), "The upload was too slow.") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
