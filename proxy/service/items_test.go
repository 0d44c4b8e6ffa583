package service_test

import (
	"iter"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/engine"
	"github.com/apbridge/apbridge/proxy/eventlog"
	"github.com/apbridge/apbridge/proxy/service"
	"github.com/apbridge/apbridge/proxy/service/servicetest"
	"github.com/apbridge/apbridge/proxy/store"
	"go.uber.org/zap"
)

// An item with a TTL expires if it is not read for that long. A read without refresh does not extend it.
func TestItemsExpireOnTime(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, path string) {
		w := wind(t, path, cronAgent{})
		defer w.close()
		space := []string{"n"}
		for key, ttl := range map[string]time.Duration{"short": time.Hour, "for ever": 0} {
			if err := w.PutItem(t.Context(), adapter.PutItem{Namespace: space, Key: key, Value: raw(`{"v":1}`), TTL: ttl}); err != nil {
				t.Fatal(err)
			}
		}
		found := func(refresh bool) int {
			list, err := itemsOf(w.SearchItems(t.Context(), adapter.ItemQuery{Prefix: space, Limit: 10, RefreshTTL: &refresh}))
			if err != nil {
				t.Fatal(err)
			}
			return len(list)
		}
		get := func(refresh bool) mapping.Class {
			_, err := w.GetItem(t.Context(), space, "short", &refresh)
			if err == nil {
				return ""
			}
			return mapping.Classify(err).Class
		}
		pass := func(d time.Duration) {
			time.Sleep(d) // on the bubble's clock
			synctest.Wait()
		}
		for _, refresh := range []func(){func() { get(true) }, func() { found(true) }} {
			pass(50 * time.Minute)
			refresh()
		}
		pass(50 * time.Minute)
		if get(false) != "" || found(false) != 2 {
			t.Error("an item that was read again has expired")
		}
		pass(11 * time.Minute)
		if class := get(false); class != mapping.NotFound || found(false) != 1 {
			t.Errorf("an item read without refresh is still there: %q, %d", class, found(false))
		}
	})
}

// Without sort_by and a query the last updated items come first, on any page; with sort_order asc they come last.
func TestItemsAreListedNewestFirst(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, path string) {
		w := wind(t, path, cronAgent{})
		defer w.close()
		for _, key := range []string{"m", "a", "z", "c", "m"} { // m is written twice
			if err := w.PutItem(t.Context(), adapter.PutItem{Namespace: []string{"n", key}, Key: key, Value: raw(`{"v":1}`)}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second) // on the bubble's clock
		}
		for want, q := range map[string]adapter.ItemQuery{
			"mcza": {}, "azcm": {Asc: true}, "mcz": {Limit: 3}, "za": {Limit: 3, Offset: 2}, "mc": {Filter: raw(`{"v":1}`), Limit: 2},
		} {
			list, err := itemsOf(w.SearchItems(t.Context(), q))
			got := ""
			for _, it := range list {
				got += it.Key
			}
			if got != want || err != nil {
				t.Errorf("%+v: %s, %v, want %s", q, got, err, want)
			}
		}
	})
}

// An item's times come from the database's clock, regardless of the machine's clock.
func TestItemsUseTheClockOfTheDatabase(t *testing.T) {
	t.Parallel()
	for _, ahead := range []time.Duration{time.Hour, -time.Hour} {
		at := time.Now().Add(ahead).UTC()
		st, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "a.db"), store.Options{Synchronous: "normal", Now: func() time.Time { return at }}, zap.NewNop())
		if err != nil {
			t.Fatal(err)
		}
		log, err := eventlog.New(st)
		if err != nil {
			t.Fatal(err)
		}
		cfg := config.Default()
		svc, err := service.New(st, log, engine.New(st, log, cfg, nil, cronMeter{}, servicetest.Dialects(), zap.NewNop()), servicetest.Dialects(), zap.NewNop())
		if err != nil {
			t.Fatal(err)
		}
		if err := svc.PutItem(t.Context(), adapter.PutItem{Namespace: []string{"n"}, Key: "k", Value: raw(`{}`), TTL: time.Minute}); err != nil {
			t.Fatal(err)
		}
		for _, there := range []bool{true, false} {
			if _, err := svc.GetItem(t.Context(), []string{"n"}, "k", &there); (err == nil) != there {
				t.Errorf("database ahead by %s: %v, want existing: %v", ahead, err, there)
			}
			at = at.Add(time.Minute + time.Second)
		}
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	}
}

func itemsOf(found iter.Seq2[mapping.Item, error]) (list []mapping.Item, err error) {
	for it, err := range found {
		if err != nil {
			return nil, err
		}
		list = append(list, it)
	}
	return list, nil
}
