package threadrun

import (
	"net/http"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/conformance/check"
	"github.com/google/uuid"
)

// lgItemRef names an item in a new namespace.
type lgItemRef struct {
	first, second string // labels
	key           string
}

func (i lgItemRef) named(key string) map[string]any {
	return map[string]any{"namespace": []string{i.first, i.second}, "key": key}
}

// at returns the path with which the SDK reads an item: the labels are joined by dots.
func (i lgItemRef) at(key string) string {
	return "/store/items?namespace=" + i.first + "." + i.second + "&key=" + key
}

func (s *langGraph) put(t *check.Talk) lgItemRef {
	i := lgItemRef{"apbridge-conformance", uuid.NewString(), "item"}
	s.putAs(t, i, i.key)
	return i
}

func (s *langGraph) putAs(t *check.Talk, i lgItemRef, key string) {
	body := i.named(key)
	body["value"] = map[string]any{"colour": "red"}
	t.Put(http.MethodPut, "/store/items", body).Is(http.StatusOK, http.StatusNoContent)
	t.Remove("item "+key, check.Request{
		Method: http.MethodDelete, Path: "/store/items", Body: `{"namespace":["` + i.first + `","` + i.second + `"],"key":"` + key + `"}`,
	})
}

func (s *langGraph) anItem(t *check.Talk) lgItemRef { return s.item.Need(t, "item", s.put) }

func (s *langGraph) storeChecks() []check.Check {
	shape := check.Object(check.Members{"namespace": check.List(check.Text), "key": check.Text, "value": check.AnObject}, nil)
	return []check.Check{
		{ID: "langgraph.store.put", Level: check.Must, Says: "An item can be put.", Cites: langGraphDoc.At("StoreClient.putItem"),
			Run: func(t *check.Talk) { s.item.Own(t, s.put) }},
		{ID: "langgraph.store.get", Level: check.Must, Says: "An item can be fetched by its namespace, as labels joined by dots, and its key.", Cites: langGraphDoc.At("StoreClient.getItem; type Item"),
			Run: func(t *check.Talk) {
				i := s.anItem(t)
				if a := t.Get(i.at(i.key)).Is(http.StatusOK).Fits(shape); a.Text("value.colour") != "red" && !t.Over() {
					t.Fail("the value differs from the one that was put")
				}
			}},
		{ID: "langgraph.store.get.unknown", Level: check.Should, Says: "Fetching an unknown item returns null.", Cites: langGraphDoc.At("StoreClient.getItem, which answers Item or null"),
			Run: func(t *check.Talk) {
				i := s.anItem(t)
				if a := t.Get(i.at("another")).Is(http.StatusOK); a.Value() != nil {
					t.Fail("the response is not null")
				}
			}},
		{ID: "langgraph.store.search", Level: check.Must, Says: "Items can be searched by the prefix of their namespace and by a filter.", Cites: langGraphDoc.At("StoreClient.searchItems; type SearchItemsResponse"),
			Run: func(t *check.Talk) {
				i := s.anItem(t)
				for colour, want := range map[string]int{"red": 1, "none": 0} {
					body := map[string]any{"namespace_prefix": []string{i.first, i.second}, "filter": map[string]any{"colour": colour}, "limit": 10, "offset": 0}
					a := t.Post("/store/items/search", body).Is(http.StatusOK).Fits(check.Object(check.Members{"items": check.List(shape)}, nil))
					if n := len(a.List("items")); n != want && !t.Over() {
						t.Fail("%d items were found with the colour %s, not %d", n, colour, want)
					}
				}
			}},
		{ID: "langgraph.store.namespaces", Level: check.Must, Says: "Namespaces can be listed, and the list is a member of an object.", Cites: langGraphDoc.At("StoreClient.listNamespaces; type ListNamespaceResponse"),
			Run: func(t *check.Talk) {
				i := s.anItem(t)
				body := map[string]any{"prefix": []string{i.first, i.second}, "limit": 100, "offset": 0}
				a := t.Post("/store/namespaces", body).Is(http.StatusOK).Fits(check.Object(check.Members{"namespaces": check.List(check.List(check.Text))}, nil))
				if n := len(a.List("namespaces")); n != 1 && !t.Over() {
					t.Fail("%d namespaces are listed with this prefix, not 1", n)
				}
			}},
		{ID: "langgraph.store.delete", Level: check.Must, Says: "A deleted item can no longer be fetched.", Cites: langGraphDoc.At("StoreClient.deleteItem"),
			Run: func(t *check.Talk) {
				i := s.anItem(t)
				s.putAs(t, i, "deleted")
				t.Put(http.MethodDelete, "/store/items", i.named("deleted")).Is(http.StatusOK, http.StatusNoContent)
				if a := t.Get(i.at("deleted")); !t.Over() && a.Status != http.StatusNotFound && a.Value() != nil {
					t.Fail("the item can still be fetched")
				}
			}},
	}
}
