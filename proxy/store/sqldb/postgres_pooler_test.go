package sqldb

import (
	"strings"
	"testing"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store/storetest"
	"go.uber.org/zap"
)

// A pooler that assigns sessions per transaction silently breaks features that need their own session, so the start
// refuses it.
func TestTransactionPoolerIsRefused(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), storetest.Bouncer(t, storetest.Schema(t), "transaction"), Options{}, zap.NewNop())
	if err == nil {
		_ = s.Close()
	}
	if err == nil || mapping.Classify(err).Class != mapping.Unavailable || !strings.Contains(err.Error(), "pool_mode = session") {
		t.Errorf("refused with %v", err)
	}
}

func TestSessionPoolerWorks(t *testing.T) {
	t.Parallel()
	a := openDB(t, storetest.Bouncer(t, storetest.Schema(t), "session"), Options{Synchronous: "normal"})
	for range 2 {
		ok(t, addRow(a))
	}
}
