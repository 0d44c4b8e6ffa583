package backend

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/mapping"
	"github.com/google/go-cmp/cmp"
)

// TestItemsOfTheAgentsStore reads items from the bridge and from the agent's graph, and checks that deleted items are
// gone.
func TestItemsOfTheAgentsStore(t *testing.T) {
	t.Parallel()
	a := playing(adaptertest.ChatPlay())
	store := scripted(t, a).(adapter.ItemKeeper).Items()
	a.Keep("tea", `{"text":"green"}`, "users", "ada")
	if err := store.PutItem(within(t), adapter.PutItem{Namespace: []string{"users", "bob"}, Key: "tea", Value: json.RawMessage(`{"text":"black"}`), TTL: time.Minute}); err != nil {
		t.Fatal(err)
	}
	if got := a.Kept("tea", "users", "bob"); got != `{"text":"black"}` {
		t.Errorf("the agent has %s", got)
	}
	if body := string(a.Bodies("PUT /store/items")[0]); !strings.Contains(body, `"ttl":1`) {
		t.Errorf("put with %s", body)
	}
	found, err := store.GetItem(within(t), []string{"users", "ada"}, "tea", nil)
	if err != nil || string(found.Value) != `{"text":"green"}` || found.CreatedAt.IsZero() || len(found.Namespace) != 2 {
		t.Errorf("%+v, %v", found, err)
	}
	keys := func(q adapter.ItemQuery) (list []string) {
		items, err := adapter.All(store.SearchItems(within(t), q))
		if err != nil {
			t.Error(err)
		}
		for _, it := range items {
			list = append(list, strings.Join(it.Namespace, ".")+" "+it.Key)
		}
		return list
	}
	if diff := cmp.Diff([]string{"users.ada tea", "users.bob tea"}, keys(adapter.ItemQuery{Prefix: []string{"users"}, Limit: 10})); diff != "" {
		t.Errorf("found (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"users.bob tea"}, keys(adapter.ItemQuery{Limit: 1, Offset: 1})); diff != "" {
		t.Errorf("second page (-want +got):\n%s", diff)
	}
	names, err := store.ListNamespaces(within(t), adapter.NamespaceQuery{Prefix: []string{"users"}, Limit: 10})
	if diff := cmp.Diff([][]string{{"users", "ada"}, {"users", "bob"}}, names); diff != "" || err != nil {
		t.Errorf("namespaces %v (-want +got):\n%s", err, diff)
	}
	for range 2 {
		if err := store.DeleteItem(within(t), []string{"users", "ada"}, "tea"); err != nil {
			t.Error(err)
		}
	}
	if _, err := store.GetItem(within(t), []string{"users", "ada"}, "tea", nil); err == nil || mapping.Classify(err).Code != mapping.CodeItemNotFound {
		t.Errorf("deleted: %v", err)
	}
	if _, err := adapter.All(store.SearchItems(within(t), adapter.ItemQuery{SortBy: mapping.SortByKey})); err == nil || mapping.Classify(err).Code != mapping.CodeNotSupported {
		t.Errorf("an order that the agent does not know: %v", err)
	}
}

// TestAServerWithoutAStore checks that every operation reports the missing store.
func TestAServerWithoutAStore(t *testing.T) {
	t.Parallel()
	agent := playing(adaptertest.ChatPlay())
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/store") {
			http.NotFound(w, r)
			return
		}
		agent.ServeHTTP(w, r)
	}))
	t.Cleanup(srv.Close)
	b, err := quick(adaptertest.Upstream(srv.URL))
	if err != nil {
		t.Fatal(err)
	}
	store := b.(adapter.ItemKeeper).Items()
	_, got := store.GetItem(within(t), []string{"a"}, "k", nil)
	_, found := adapter.All(store.SearchItems(within(t), adapter.ItemQuery{Limit: 1}))
	_, named := store.ListNamespaces(within(t), adapter.NamespaceQuery{Limit: 1})
	for what, err := range map[string]error{
		"get": got, "search": found, "namespaces": named, "delete": store.DeleteItem(within(t), []string{"a"}, "k"),
		"put": store.PutItem(within(t), adapter.PutItem{Namespace: []string{"a"}, Key: "k", Value: json.RawMessage(`{}`)}),
	} {
		if err == nil || mapping.Classify(err).Code != mapping.CodeNotSupported {
			t.Errorf("%s: %v", what, err)
		}
	}
}
