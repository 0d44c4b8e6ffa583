package webhook

import (
	"sync"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// TestUnreadableOutboxIsLoggedOnce checks that the sender retries each second without a log line for each.
func TestUnreadableOutboxIsLoggedOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	core, logged := observer.New(zap.WarnLevel)
	s := New(b.st.Deliveries, b.st.Runs, local, "apbridge/test", nil, zap.New(core))
	if err := b.st.Close(); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		if wait := s.start(t.Context(), new(sync.WaitGroup)); wait != retryStore {
			t.Fatalf("the next attempt is in %s", wait)
		}
	}
	if n := logged.Len(); n != 1 {
		t.Errorf("logged %d times", n)
	}
}
