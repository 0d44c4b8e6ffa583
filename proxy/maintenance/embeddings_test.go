package maintenance_test

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/itemquery"
	"github.com/apbridge/apbridge/proxy/embedding"
	"github.com/apbridge/apbridge/proxy/embedding/embeddingtest"
	"github.com/apbridge/apbridge/proxy/maintenance"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/apbridge/apbridge/proxy/store/item"
	"github.com/apbridge/apbridge/proxy/store/storetest"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// openIndexed opens a database whose items become vectors.
func openIndexed(t *testing.T, e *embeddingtest.Endpoint) *store.Store {
	t.Helper()
	cfg := config.Default().Store.Index
	cfg.Dims, cfg.Embed, cfg.URL = 8, "any:m", e.URL
	client := embedding.New(cfg, "apbridge/test", zap.NewNop())
	t.Cleanup(client.CloseIdle)
	st, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "a.db"), store.Options{
		Synchronous: storetest.Synchronous(), Index: &item.Index{Embed: client, Dims: 8, Mark: "m", Fields: []itemquery.ItemPath{{}}, Cache: 1 << 20},
	}, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	return st
}

// Items become vectors soon after they were written, and when an unavailable endpoint works again. The log reports the
// outage once.
func TestItemsBecomeVectors(t *testing.T) {
	t.Parallel()
	e := embeddingtest.Serve(t, 8)
	var down atomic.Int32
	e.Refuse(func(w http.ResponseWriter, _ embeddingtest.Request) bool {
		if down.Add(1) > 3 {
			return false
		}
		w.WriteHeader(http.StatusForbidden)
		return true
	})
	st := openIndexed(t, e)
	core, logs := observer.New(zap.ErrorLevel)
	work := maintenance.NewEmbeddings(st.ItemMaintenance, zap.New(core))
	work.RestFor(time.Millisecond)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); work.Run(ctx) }()
	for n, key := range []string{"first", "second"} {
		if err := st.Items.Put(ctx, item.Put{Item: mapping.Item{Namespace: []string{"n"}, Key: key, Value: []byte(`{"t":"x"}`)}}); err != nil {
			t.Fatal(err)
		}
		tick, late := time.NewTicker(time.Millisecond), time.After(time.Minute)
		for count(e) <= n {
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

// count returns how many texts of items an endpoint has accepted.
func count(e *embeddingtest.Endpoint) (n int) {
	for _, q := range e.Asked() {
		for _, text := range q.Texts {
			if text != "hello" { // used to check whether it accepts any text
				n++
			}
		}
	}
	return n
}

// The log names an item that the endpoint refuses, but contains nothing of its text.
func TestLogNamesARefusedItem(t *testing.T) {
	t.Parallel()
	e := embeddingtest.Serve(t, 8)
	e.Refuse(func(w http.ResponseWriter, q embeddingtest.Request) bool {
		all := strings.Join(q.Texts, "")
		if strings.Contains(all, "diary") {
			http.Error(w, all, http.StatusForbidden)
		}
		return strings.Contains(all, "diary")
	})
	st := openIndexed(t, e)
	core, logs := observer.New(zap.DebugLevel)
	work := maintenance.NewEmbeddings(st.ItemMaintenance, zap.New(core))
	ctx, stop := context.WithCancel(t.Context())
	for key, value := range map[string]string{"secret": `{"t":"my diary"}`, "plain": `{"t":"x"}`} {
		if err := st.Items.Put(ctx, item.Put{Item: mapping.Item{Namespace: []string{"users", "ada"}, Key: key, Value: []byte(value)}}); err != nil {
			t.Fatal(err)
		}
	}
	ended := make(chan struct{})
	go func() { defer close(ended); work.Run(ctx) }()
	tick, late := time.NewTicker(time.Millisecond), time.After(time.Minute)
	defer tick.Stop()
	for len(logs.FilterMessageSnippet("set aside").All()) == 0 || count(e) == 0 {
		select {
		case <-tick.C:
		case <-late:
			t.Fatal("nothing was logged")
		}
	}
	stop()
	<-ended
	for _, line := range logs.All() {
		if text := fmt.Sprint(line.Message, line.ContextMap()); strings.Contains(text, "diary") {
			t.Errorf("the log shows a text: %s", text)
		}
	}
	said := logs.FilterMessageSnippet("set aside").All()
	if got := said[0].ContextMap(); len(said) != 1 || said[0].Level != zap.WarnLevel || got["key"] != "secret" || fmt.Sprint(got["namespace"]) != "[users ada]" {
		t.Errorf("%d lines, the first with %v", len(said), got)
	}
}
