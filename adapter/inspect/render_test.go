package inspect

import (
	"context"
	"errors"
	"net/http/httptest"
	"testing"

	"github.com/apbridge/apbridge/adapter"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// A client that leaves during its request is no failure of the bridge.
func TestAClientThatLeftIsNoFailure(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		cause  error
		status int
	}{
		"the client left": {context.Canceled, adapter.StatusClientGone}, "the bridge stops": {errors.New("the bridge is shutting down"), 503},
	} {
		core, logs := observer.New(zap.DebugLevel)
		s := newServer(Options{Log: zap.New(core)})
		ctx, end := context.WithCancelCause(t.Context())
		end(c.cause)
		w := httptest.NewRecorder()
		s.fail(w, httptest.NewRequestWithContext(ctx, "GET", "/inspect", nil), errors.New("a query was canceled"))
		if w.Code != c.status || logs.Len() != 0 {
			t.Errorf("%s: status %d, logged %v", name, w.Code, logs.All())
		}
	}
}
