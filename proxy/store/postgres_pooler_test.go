package store_test

import (
	"strings"
	"testing"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/apbridge/apbridge/proxy/store/storetest"
	"go.uber.org/zap"
)

// A pooler that gives out sessions for a transaction only breaks what needs one of its own, silently: the
// start refuses it.
func TestPoolerByTransactionsIsRefused(t *testing.T) {
	t.Parallel()
	s, err := store.Open(t.Context(), storetest.Bouncer(t, storetest.Schema(t), "transaction"), store.Options{}, zap.NewNop())
	if err == nil {
		_ = s.Close()
	}
	wantClass(t, err, mapping.Unavailable, "")
	if err == nil || !strings.Contains(err.Error(), "pool_mode = session") {
		t.Errorf("refused with %v", err)
	}
}

func TestPoolerBySessionsServes(t *testing.T) {
	t.Parallel()
	a := openAt(t, storetest.Bouncer(t, storetest.Schema(t), "session"), store.Options{Synchronous: "normal"})
	c := a.create(newThreadRun())
	a.append(c, token("1"))
}
