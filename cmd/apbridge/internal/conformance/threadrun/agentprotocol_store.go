package threadrun

import (
	"maps"
	"net/http"
	"net/url"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/conformance/check"
	"github.com/google/uuid"
)

// apItemRef names an item in a new namespace.
type apItemRef struct {
	namespace []any
	key       string
}

func (s apItemRef) named(more map[string]any) map[string]any {
	body := map[string]any{"namespace": s.namespace, "key": s.key}
	maps.Copy(body, more)
	return body
}

// query has one parameter for each label of the namespace.
func (s apItemRef) query(key string) string {
	q := url.Values{"key": {key}}
	for _, label := range s.namespace {
		q.Add("namespace", label.(string))
	}
	return "/store/items?" + q.Encode()
}

func (s *agentProtocol) put(t *check.Talk) apItemRef {
	made := apItemRef{namespace: []any{"apbridge-conformance", uuid.NewString()}, key: "item"}
	t.Put(http.MethodPut, "/store/items", made.named(map[string]any{"value": map[string]any{"colour": "red", "size": 1}})).Is(http.StatusNoContent)
	t.Remove("item "+made.key, deletion(made))
	return made
}

func deletion(s apItemRef) check.Request {
	return check.Request{Method: http.MethodDelete, Path: "/store/items", Body: `{"namespace":["` + s.namespace[0].(string) + `","` + s.namespace[1].(string) + `"],"key":"` + s.key + `"}`}
}

func (s *agentProtocol) anItem(t *check.Talk) apItemRef { return s.item.Need(t, "item", s.put) }

func (s *agentProtocol) storeChecks() []check.Check {
	return append([]check.Check{
		{ID: "agentprotocol.store.put", Level: check.Must, Says: "Putting an item returns 204.", Cites: agentProtocolDoc.At("put_item, 204; schema StorePutRequest"),
			Run: func(t *check.Talk) { s.item.Own(t, s.put) }},
		{ID: "agentprotocol.store.put.invalid", Level: check.Must, Says: "Putting an item without a value returns 422.", Cites: agentProtocolDoc.At("put_item, 422; schema StorePutRequest, required"),
			Run: func(t *check.Talk) {
				t.Put(http.MethodPut, "/store/items", s.anItem(t).named(nil)).Is(http.StatusUnprocessableEntity).Fits(apError)
			}},
		{ID: "agentprotocol.store.get", Level: check.Must, Says: "An item can be fetched by its namespace and key.", Cites: agentProtocolDoc.At("get_item, 200; schema Item"),
			Run: func(t *check.Talk) {
				item := s.anItem(t)
				if a := t.Get(item.query(item.key)).Is(http.StatusOK).Fits(apItem); a.Text("value.colour") != "red" && !t.Over() {
					t.Fail("the value differs from the one that was put")
				}
			}},
		{ID: "agentprotocol.store.get.unknown", Level: check.Must, Says: "Fetching an unknown item returns 404.", Cites: agentProtocolDoc.At("get_item, 404"),
			Run: func(t *check.Talk) { t.Get(s.anItem(t).query("another")).Is(http.StatusNotFound) }},
		{ID: "agentprotocol.store.put.again", Level: check.Must, Says: "Putting an existing item replaces its value.", Cites: agentProtocolDoc.At("put_item, summary Insert or Update Item"),
			Run: func(t *check.Talk) {
				item := s.anItem(t)
				item.key = "again"
				t.Remove("item "+item.key, deletion(item))
				for _, colour := range []string{"green", "blue"} {
					t.Put(http.MethodPut, "/store/items", item.named(map[string]any{"value": map[string]any{"colour": colour}})).Is(http.StatusNoContent)
				}
				if a := t.Get(item.query(item.key)).Is(http.StatusOK); a.Text("value.colour") != "blue" && !t.Over() {
					t.Fail("the value is %v", a.At("value"))
				}
			}},
		{ID: "agentprotocol.store.delete", Level: check.Must, Says: "Deleting an item returns 204; afterwards the item is unknown.", Cites: agentProtocolDoc.At("delete_item, 204; get_item, 404"),
			Run: func(t *check.Talk) {
				item := s.anItem(t)
				item.key = "deleted"
				t.Put(http.MethodPut, "/store/items", item.named(map[string]any{"value": map[string]any{}})).Is(http.StatusNoContent)
				t.Send(deletion(item)).Is(http.StatusNoContent)
				t.Get(item.query(item.key)).Is(http.StatusNotFound)
			}},
	}, s.searchChecks()...)
}

func (s *agentProtocol) searchChecks() []check.Check {
	items := check.Object(check.Members{"items": check.List(apItem)}, nil)
	find := func(t *check.Talk, filter map[string]any) []any {
		body := map[string]any{"namespace_prefix": s.anItem(t).namespace}
		if filter != nil {
			body["filter"] = filter
		}
		return t.Post("/store/items/search", body).Is(http.StatusOK).Fits(items).List("items")
	}
	return []check.Check{
		{ID: "agentprotocol.store.search", Level: check.Must, Says: "Items can be searched by the prefix of their namespace.", Cites: agentProtocolDoc.At("search_items, 200; schemas StoreSearchRequest and SearchItemsResponse"),
			Run: func(t *check.Talk) {
				if !check.Holds(find(t, nil), "key", s.anItem(t).key) {
					t.Fail("the item is not found")
				}
			}},
		{ID: "agentprotocol.store.search.filter", Level: check.Must, Says: "A filter returns only the items that match it.", Cites: agentProtocolDoc.At("schema StoreSearchRequest, filter"),
			Run: func(t *check.Talk) {
				if !check.Holds(find(t, map[string]any{"colour": "red"}), "key", s.anItem(t).key) {
					t.Fail("a filter that matches the item does not find it")
				}
				if n := len(find(t, map[string]any{"colour": "none"})); n > 0 {
					t.Fail("a filter that matches no item finds %d", n)
				}
			}},
		{ID: "agentprotocol.store.namespaces", Level: check.Must, Says: "Namespaces can be listed, each as a list of labels.", Cites: agentProtocolDoc.At("list_namespaces, 200; schema ListNamespaceResponse"),
			Run: func(t *check.Talk) {
				item := s.anItem(t)
				a := t.Post("/store/namespaces", map[string]any{"prefix": item.namespace}).Is(http.StatusOK).Fits(check.List(check.List(check.Text)))
				if n := len(a.List("")); n != 1 && !t.Over() {
					t.Fail("%d namespaces are listed with this prefix, not 1", n)
				}
			}},
	}
}
