package maintenance_test

import (
	"context"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/maintenance"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/apbridge/apbridge/proxy/store/item"
	"github.com/apbridge/apbridge/proxy/store/storetest"
	"go.uber.org/zap"
)

// Expired items are removed at the next sweep, and not earlier.
func TestItemsAreSweptAsOftenAsConfigured(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	synctest.Test(t, func(t *testing.T) {
		st, err := store.Open(t.Context(), path, store.Options{Synchronous: storetest.Synchronous(), Passed: storetest.Passed(), TTL: item.TTL{Default: time.Minute}}, zap.NewNop())
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close()
		if err := st.Items.Put(t.Context(), item.Put{Item: mapping.Item{Namespace: []string{"n"}, Key: "k", Value: []byte(`{}`)}}); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); maintenance.NewItems(st.ItemMaintenance, time.Hour, zap.NewNop()).Run(ctx) }()
		time.Sleep(59 * time.Minute)
		synctest.Wait()
		before, err := st.ItemMaintenance.Expired(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		after, err := st.ItemMaintenance.Expired(t.Context())
		if err != nil || !before || after {
			t.Errorf("expired item exists before the sweep: %v, after it: %v, %v", before, after, err)
		}
		stop()
		<-ended
	})
}
