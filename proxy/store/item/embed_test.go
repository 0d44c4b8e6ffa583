package item_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/embedding/embeddingtest"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/apbridge/apbridge/proxy/store/item"
	"github.com/google/go-cmp/cmp"
)

// refusing makes an endpoint answer 403 to requests with a text that contains these words.
func refusing(e *embeddingtest.Endpoint, words string) {
	e.Refuse(func(w http.ResponseWriter, q embeddingtest.Request) bool {
		all := strings.Join(q.Texts, " ")
		if strings.Contains(all, words) {
			http.Error(w, "not this: "+all, http.StatusForbidden)
		}
		return strings.Contains(all, words)
	})
}

// embedOnce creates some vectors and returns the names of items that were set aside.
func (b *harness) embedOnce() (aside []string) {
	b.t.Helper()
	_, list, err := b.ItemMaintenance.Embed(b.ctx)
	b.ok(err)
	for _, it := range list {
		if strings.Contains(it.Err.Error(), "poison") || !strings.Contains(it.Err.Error(), "403") {
			b.t.Errorf("%s was set aside: %v", it.Key, it.Err)
		}
		aside = append(aside, fmt.Sprintf("%s:%s/%s %d %s", it.Tenant, strings.Join(it.Namespace, "/"), it.Key, it.Tries, it.For))
	}
	return aside
}

// An item that the endpoint refuses is set aside, and all others get vectors. Searches that might have found it report
// that they used words only. It is retried at growing intervals until it is accepted.
func TestRefusedItemIsSetAside(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		e := embeddingtest.Serve(t, vectorDims)
		clock := &later{at: time.UnixMicro(1_700_000_000_000_000).UTC()}
		b := open(t, store.Options{Synchronous: "normal", Index: indexOf(t, e, "m", "t", "u"), Now: clock.now})
		pass := func(d time.Duration) { clock.at = clock.at.Add(d) }
		one, two := b.as("one"), b.as("two")
		lost := func(h *harness, want bool, prefix ...string) {
			t.Helper()
			if _, got := h.meaning(item.Query{Query: "feline", Prefix: prefix}); got != want {
				t.Errorf("search below %q reports words only: %v", prefix, got)
			}
		}
		refusing(e, "poison")
		one.put("bad", `{"t":"poison kitten","u":"rain"}`, "n", "deep")
		one.put("good", `{"t":"kitten"}`, "n", "other")
		two.put("good", `{"t":"kitten"}`, "n", "deep")
		aside := append(b.embedOnce(), append(b.embedOnce(), b.embedOnce()...)...)
		if d := cmp.Diff([]string{"one:n/deep/bad 1 1m0s"}, aside); d != "" {
			t.Error(d)
		}
		one.wantMeaning(item.Query{Query: "feline", Prefix: []string{"n", "other"}}, "good")
		two.wantMeaning(item.Query{Query: "feline"}, "good")
		lost(one, true)
		lost(one, true, "n", "deep")
		lost(two, false)
		if got, _ := one.meaning(item.Query{Query: "storm", Limit: 1}); !cmp.Equal(got, []string{"bad"}) {
			t.Errorf("its other text finds %q", got)
		}
		if n, err := b.ItemMaintenance.WithoutVectors(b.ctx); err != nil || n != (item.WithoutVectors{SetAside: 1}) {
			t.Errorf("%+v, %v", n, err)
		}
		for tries, after := range []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute} {
			asked := len(e.Asked())
			pass(after - time.Second)
			if aside := b.embedOnce(); aside != nil || len(e.Asked()) != asked {
				t.Errorf("retried too early: %q", aside)
			}
			pass(time.Second)
			if d := cmp.Diff([]string{fmt.Sprintf("one:n/deep/bad %d %s", tries+2, 2*after)}, b.embedOnce()); d != "" {
				t.Error(d)
			}
		}
		one.put("bad", `{"t":"poison cat"}`, "n", "deep")
		if d := cmp.Diff([]string{"one:n/deep/bad 1 1m0s"}, b.embedOnce()); d != "" {
			t.Errorf("overwritten: %s", d)
		}
		e.Refuse(nil)
		pass(time.Minute)
		b.embed()
		one.wantMeaning(item.Query{Query: "feline", Prefix: []string{"n", "deep"}}, "bad")
		lost(one, false)
	})
}

// The record of an item's refusals is removed with the item, and with the index that it belongs to.
func TestRefusalsAreDeletedWithTheirItems(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		e := embeddingtest.Serve(t, vectorDims)
		clock := &later{at: time.UnixMicro(1_700_000_000_000_000).UTC()}
		b := open(t, store.Options{Synchronous: "normal", Index: indexOf(t, e, "m"), Now: clock.now})
		refusing(e, "poison")
		for name, remove := range map[string]func(){
			"deleted": func() { b.ok(b.Items.Delete(b.ctx, []string{"n"}, "bad")) },
			"unlisted": func() {
				it := mapping.Item{Namespace: []string{"n"}, Key: "bad", Value: []byte(`{"t":"poison"}`)}
				b.ok(b.Items.Put(b.ctx, item.Put{Item: it, Index: []byte("false")}))
				b.embedOnce()
			},
			"swept": func() {
				it := mapping.Item{Namespace: []string{"n"}, Key: "bad", Value: []byte(`{"t":"poison"}`)}
				b.ok(b.Items.Put(b.ctx, item.Put{Item: it, TTL: time.Minute}))
				clock.at = clock.at.Add(time.Hour)
				_, err := b.ItemMaintenance.Sweep(b.ctx)
				b.ok(err)
			},
			"of an owner that is removed": func() {
				_, err := b.Items.RemoveOwned(b.ctx, "")
				b.ok(err)
			},
		} {
			b.put("bad", `{"t":"poison"}`, "n")
			b.embedOnce()
			if n, err := b.ItemMaintenance.WithoutVectors(b.ctx); err != nil || n.SetAside != 1 {
				t.Errorf("%s: before, %+v, %v", name, n, err)
			}
			remove()
			if n, err := b.ItemMaintenance.WithoutVectors(b.ctx); err != nil || n.SetAside != 0 {
				t.Errorf("%s: %+v, %v", name, n, err)
			}
		}
	})
}

// While all vectors are rebuilt after a change of the model, tenants take turns, the newest items come first, and
// searches of items with late vectors report that they used words only.
func TestANewItemDoesNotWaitForAllOthers(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		e := embeddingtest.Serve(t, vectorDims)
		clock := &later{at: time.UnixMicro(1_700_000_000_000_000).UTC()}
		b := open(t, store.Options{Synchronous: "normal", Index: indexOf(t, e, "m"), Now: clock.now})
		one, two, three := b.as("one"), b.as("two"), b.as("three")
		for n := range 500 {
			one.put(fmt.Sprintf("old%03d", n), `{"t":"rain"}`, "n")
		}
		two.put("old", `{"t":"rain"}`, "n")
		clock.at = clock.at.Add(time.Hour)
		b.embedOnce()
		if _, lost := one.meaning(item.Query{Query: "cat"}); !lost {
			t.Error("a search of items that have waited for an hour does not report words only")
		}
		one.put("new", `{"t":"kitten"}`, "n")
		three.put("new", `{"t":"kitten"}`, "n")
		for range 3 {
			b.embedOnce()
		}
		for name, h := range map[string]*harness{"one": one, "three": three} {
			if got, _ := h.meaning(item.Query{Query: "feline", Limit: 1}); !cmp.Equal(got, []string{"new"}) {
				t.Errorf("tenant %s finds %q", name, got)
			}
		}
		three.wantMeaning(item.Query{Query: "feline"}, "new")
		if n, err := b.ItemMaintenance.WithoutVectors(b.ctx); err != nil || n.Waiting < 100 {
			t.Errorf("all items should have vectors: %+v, %v", n, err)
		}
		b.embed()
		if _, lost := one.meaning(item.Query{Query: "cat"}); lost {
			t.Error("a search of items that all have vectors reports words only")
		}
	})
}
