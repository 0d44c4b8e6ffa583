package adaptertest

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// This file implements the store of the scripted agent, as in version 1.5.1 of the JavaScript LangGraph server.

// storedItem is an item of the store.
type storedItem struct {
	Namespace []string        `json:"namespace"`
	Key       string          `json:"key"`
	Value     json.RawMessage `json:"value"`
	Created   string          `json:"created_at"`
	Updated   string          `json:"updated_at"`
}

func (i storedItem) name() string { return strings.Join(append(slices.Clone(i.Namespace), i.Key), "/") }

// Keep puts an item into the store, as a graph on the server would.
func (a *ThreadAgent) Keep(key, value string, namespace ...string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.keep(storedItem{Namespace: namespace, Key: key, Value: json.RawMessage(value)})
}

// Kept returns the value of an item, or "".
func (a *ThreadAgent) Kept(key string, namespace ...string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return string(a.items[storedItem{Namespace: namespace, Key: key}.name()].Value)
}

// keep is Keep with the lock held.
func (a *ThreadAgent) keep(i storedItem) {
	if a.items == nil {
		a.items = map[string]storedItem{}
	}
	i.Created, i.Updated = "2026-11-28T17:45:26.129Z", "2026-11-28T17:45:26.129Z"
	a.items[i.name()] = i
}

// store handles the routes of the store. It returns false for any other route.
func (a *ThreadAgent) store(w http.ResponseWriter, r *http.Request, route string, body []byte) bool {
	var req struct {
		storedItem
		Prefix []string `json:"namespace_prefix"`
		Below  []string `json:"prefix"`
		Limit  int      `json:"limit"`
		Offset int      `json:"offset"`
	}
	_ = json.Unmarshal(body, &req)
	a.mu.Lock()
	defer a.mu.Unlock()
	switch route {
	case "PUT /store/items":
		a.keep(req.storedItem)
		w.WriteHeader(http.StatusNoContent)
	case "DELETE /store/items":
		delete(a.items, req.name())
		w.WriteHeader(http.StatusNoContent)
	case "GET /store/items":
		q := r.URL.Query()
		found, ok := a.items[storedItem{Namespace: strings.Split(q.Get("namespace"), "."), Key: q.Get("key")}.name()]
		writeJSON(w, found, ok)
	case "POST /store/items/search":
		list := a.itemsBelow(req.Prefix)
		writeJSON(w, map[string]any{"items": list[min(req.Offset, len(list)):min(req.Offset+req.Limit, len(list))]}, true)
	case "POST /store/namespaces":
		names := [][]string{}
		for _, i := range a.itemsBelow(req.Below) {
			if len(names) == 0 || !slices.Equal(names[len(names)-1], i.Namespace) {
				names = append(names, i.Namespace)
			}
		}
		writeJSON(w, map[string]any{"namespaces": names}, true)
	default:
		return false
	}
	return true
}

// itemsBelow returns the items in and below a namespace, sorted. The lock must be held.
func (a *ThreadAgent) itemsBelow(prefix []string) []storedItem {
	list := []storedItem{}
	for _, i := range a.items {
		if len(i.Namespace) >= len(prefix) && slices.Equal(i.Namespace[:len(prefix)], prefix) {
			list = append(list, i)
		}
	}
	slices.SortFunc(list, func(x, y storedItem) int {
		return cmp.Or(slices.Compare(x.Namespace, y.Namespace), cmp.Compare(x.Key, y.Key))
	})
	return list
}

// writeJSON writes a value, or null.
func writeJSON(w http.ResponseWriter, value any, there bool) {
	if !there {
		value = nil
	}
	text, _ := json.Marshal(value)
	jsonBody(w, string(text))
}
