package agentprotocol

import (
	"net/http"
	"net/url"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/conformance/check"
	"github.com/google/uuid"
)

// store is a namespace of its own with one item in it.
type store struct {
	namespace []any
	key       string
}

func (s store) named(more map[string]any) map[string]any {
	body := map[string]any{"namespace": s.namespace, "key": s.key}
	for name, value := range more {
		body[name] = value
	}
	return body
}

// query names the item as create-item's parameters do, a label each.
func (s store) query(key string) string {
	q := url.Values{"key": {key}}
	for _, label := range s.namespace {
		q.Add("namespace", label.(string))
	}
	return "/store/items?" + q.Encode()
}

func (s *suite) put(t *check.Talk) store {
	made := store{namespace: []any{"apbridge-conformance", uuid.NewString()}, key: "item"}
	t.Put(http.MethodPut, "/store/items", made.named(map[string]any{"value": map[string]any{"colour": "red", "size": 1}})).Is(http.StatusNoContent)
	t.Remove("item "+made.key, deletion(made))
	return made
}

func deletion(s store) check.Request {
	return check.Request{Method: http.MethodDelete, Path: "/store/items", Body: `{"namespace":["` + s.namespace[0].(string) + `","` + s.namespace[1].(string) + `"],"key":"` + s.key + `"}`}
}

func (s *suite) anItem(t *check.Talk) store { return s.item.Need(t, "item", s.put) }

func (s *suite) storeChecks() []check.Check {
	return append([]check.Check{
		{ID: "agentprotocol.store.put", Level: check.Must, Says: "An item is put with 204.", Cites: cites("put_item, 204; schema StorePutRequest"),
			Run: func(t *check.Talk) { s.item.Own(t, s.put) }},
		{ID: "agentprotocol.store.put.invalid", Level: check.Must, Says: "An item without a value is refused with 422.", Cites: cites("put_item, 422; schema StorePutRequest, required"),
			Run: func(t *check.Talk) {
				t.Put(http.MethodPut, "/store/items", s.anItem(t).named(nil)).Is(http.StatusUnprocessableEntity).Fits(errorShape)
			}},
		{ID: "agentprotocol.store.get", Level: check.Must, Says: "An item is found by its namespace and its key.", Cites: cites("get_item, 200; schema Item"),
			Run: func(t *check.Talk) {
				item := s.anItem(t)
				if a := t.Get(item.query(item.key)).Is(http.StatusOK).Fits(itemShape); a.Text("value.colour") != "red" && !t.Over() {
					t.Fail("its value is not what was put")
				}
			}},
		{ID: "agentprotocol.store.get.unknown", Level: check.Must, Says: "An unknown item is answered 404.", Cites: cites("get_item, 404"),
			Run: func(t *check.Talk) { t.Get(s.anItem(t).query("another")).Is(http.StatusNotFound) }},
		{ID: "agentprotocol.store.put.again", Level: check.Must, Says: "An item that is put again has the new value.", Cites: cites("put_item, summary Insert or Update Item"),
			Run: func(t *check.Talk) {
				item := s.anItem(t)
				item.key = "again"
				t.Remove("item "+item.key, deletion(item))
				for _, colour := range []string{"green", "blue"} {
					t.Put(http.MethodPut, "/store/items", item.named(map[string]any{"value": map[string]any{"colour": colour}})).Is(http.StatusNoContent)
				}
				if a := t.Get(item.query(item.key)).Is(http.StatusOK); a.Text("value.colour") != "blue" && !t.Over() {
					t.Fail("its value is %v", a.At("value"))
				}
			}},
		{ID: "agentprotocol.store.delete", Level: check.Must, Says: "An item is deleted with 204, and is then unknown.", Cites: cites("delete_item, 204; get_item, 404"),
			Run: func(t *check.Talk) {
				item := s.anItem(t)
				item.key = "deleted"
				t.Put(http.MethodPut, "/store/items", item.named(map[string]any{"value": map[string]any{}})).Is(http.StatusNoContent)
				t.Send(deletion(item)).Is(http.StatusNoContent)
				t.Get(item.query(item.key)).Is(http.StatusNotFound)
			}},
	}, s.searchChecks()...)
}

func (s *suite) searchChecks() []check.Check {
	items := check.Object(check.Members{"items": check.List(itemShape)}, nil)
	find := func(t *check.Talk, filter map[string]any) []any {
		body := map[string]any{"namespace_prefix": s.anItem(t).namespace}
		if filter != nil {
			body["filter"] = filter
		}
		return t.Post("/store/items/search", body).Is(http.StatusOK).Fits(items).List("items")
	}
	return []check.Check{
		{ID: "agentprotocol.store.search", Level: check.Must, Says: "Items are found by the beginning of their namespace.", Cites: cites("search_items, 200; schemas StoreSearchRequest and SearchItemsResponse"),
			Run: func(t *check.Talk) {
				if !check.Holds(find(t, nil), "key", s.anItem(t).key) {
					t.Fail("the item is not found")
				}
			}},
		{ID: "agentprotocol.store.search.filter", Level: check.Must, Says: "Items are found by a filter, and others are not.", Cites: cites("schema StoreSearchRequest, filter"),
			Run: func(t *check.Talk) {
				if !check.Holds(find(t, map[string]any{"colour": "red"}), "key", s.anItem(t).key) {
					t.Fail("the item is not found by what its value has")
				}
				if n := len(find(t, map[string]any{"colour": "none"})); n > 0 {
					t.Fail("%d items are found by what no value has", n)
				}
			}},
		{ID: "agentprotocol.store.namespaces", Level: check.Must, Says: "Namespaces are listed as lists of labels.", Cites: cites("list_namespaces, 200; schema ListNamespaceResponse"),
			Run: func(t *check.Talk) {
				item := s.anItem(t)
				a := t.Post("/store/namespaces", map[string]any{"prefix": item.namespace}).Is(http.StatusOK).Fits(check.List(check.List(check.Text)))
				if n := len(a.List("")); n != 1 && !t.Over() {
					t.Fail("%d namespaces have this prefix, and one has an item", n)
				}
			}},
	}
}
