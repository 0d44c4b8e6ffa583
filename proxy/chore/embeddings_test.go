package chore_test

import (
	"context"
	"net/http"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/itemquery"
	"github.com/apbridge/apbridge/proxy/chore"
	"github.com/apbridge/apbridge/proxy/embedding"
	"github.com/apbridge/apbridge/proxy/embedding/embeddingtest"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/apbridge/apbridge/proxy/store/item"
	"github.com/apbridge/apbridge/proxy/store/storetest"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// Items become vectors soon after they were written, also once an endpoint that was down is there again; the log says
// once that it was.
func TestItemsBecomeVectors(t *testing.T) {
	t.Parallel()
	e := embeddingtest.Serve(t, 8)
	var down atomic.Int32
	e.Refuse(func(w http.ResponseWriter) bool {
		if down.Add(1) > 3 {
			return false
		}
		w.WriteHeader(http.StatusForbidden)
		return true
	})
	cfg := config.Default().Store.Index
	cfg.Dims, cfg.Embed, cfg.URL = 8, "any:m", e.URL
	client := embedding.New(cfg, "apbridge/test", zap.NewNop())
	defer client.CloseIdle()
	st, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "a.db"), store.Options{
		Synchronous: storetest.Synchronous(), Index: &item.Index{Embed: client, Dims: 8, Mark: "m", Fields: []itemquery.ItemPath{{}}, Cache: 1 << 20},
	}, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	core, logs := observer.New(zap.ErrorLevel)
	work := chore.NewEmbeddings(st.ItemChores, zap.New(core))
	work.RestFor(time.Millisecond)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); work.Run(ctx) }()
	for n, key := range []string{"first", "second"} {
		if err := st.Items.Put(ctx, item.Put{Item: mapping.Item{Namespace: []string{"n"}, Key: key, Value: []byte(`{"t":"x"}`)}}); err != nil {
			t.Fatal(err)
		}
		tick, late := time.NewTicker(time.Millisecond), time.After(time.Minute)
		for e.Count() <= n {
			select {
			case <-tick.C:
			case <-late:
				t.Fatalf("%s is no vector", key)
			}
		}
		tick.Stop()
	}
	stop()
	<-ended
	if n := logs.Len(); n != 1 {
		t.Errorf("the log has %d lines", n)
	}
}
