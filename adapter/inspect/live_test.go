package inspect

import (
	"context"
	"net/http/httptest"
	"testing"
)

func TestHeadOfAStreamReturnsAtOnce(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	looks, w := 0, httptest.NewRecorder()
	err := new(server).follow(w, httptest.NewRequestWithContext(ctx, "HEAD", "/inspect/events", nil), func(context.Context) (string, error) {
		if looks++; looks > 1 {
			stop()
		}
		return "mark", nil
	})
	if err != nil || looks != 1 || w.Body.Len() != 0 || w.Header().Get("Content-Type") != "text/event-stream" ||
		w.Header().Get("Cache-Control") != "no-cache, no-transform" {
		t.Errorf("%d looks, %v, %q, %v", looks, w.Header(), w.Body, err)
	}
}
