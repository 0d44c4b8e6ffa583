package face

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

func (s *server) putItem(w http.ResponseWriter, r *http.Request) error {
	o, err := s.request(w, r, true)
	if err != nil {
		return err
	}
	p := adapter.PutItem{Namespace: o.namespace(), Key: o.key(), Value: o.needed("value", o.object("value")), Index: o.index()}
	if ttl := o.minutes("ttl"); ttl != nil {
		p.TTL = *ttl
	}
	if err := o.err(); err != nil {
		return err
	}
	if err := s.svc.Items.Put(r.Context(), p); err != nil {
		return err
	}
	noContent(w)
	return nil
}

// needed complains about a member that was not sent.
func (o *fields) needed(name string, v json.RawMessage) json.RawMessage {
	if o.get(name) == nil {
		o.complain(name, "is needed")
	}
	return v
}

func (o *fields) key() string {
	o.needed("key", nil)
	return o.name("key")
}

// namespace reads where an item is put: labels, of which there is at least
// one, none of them empty or with a dot, since one parameter of the GET joins
// them with dots.
func (o *fields) namespace() []string {
	o.needed("namespace", nil)
	labels := o.texts("namespace")
	if labels != nil && len(labels) == 0 {
		o.complain("namespace", "must have at least one label")
	}
	o.checkLabels("namespace", labels)
	return labels
}

func (o *fields) checkLabels(name string, labels []string) {
	for _, l := range labels {
		if l == "" || strings.Contains(l, ".") {
			o.complain(name, "must have labels that are not empty and have no dots")
			return
		}
	}
}

// index is false, or a list of paths to embed; null and nothing are the default.
func (o *fields) index() json.RawMessage {
	v := o.get("index")
	switch rawjson.Kind(v) {
	case 0, 'f':
	case '[':
		o.texts("index")
	default:
		o.complain("index", "must be false or a list of paths, not %s", kindName(v))
	}
	return v
}

func (s *server) getItem(w http.ResponseWriter, r *http.Request) error {
	q := queryOf(r)
	namespace, key, refresh := q.namespace(), q.text("key"), q.flag("refresh_ttl")
	if key == "" {
		q.complain("key", "is needed")
	}
	if err := q.err(); err != nil {
		return err
	}
	flavour, err := flavourOf(r)
	if err != nil {
		return err
	}
	it, err := s.svc.Items.Get(r.Context(), namespace, key, refresh)
	if isNotFound(err) && missingIsNull(flavour, q) {
		reply(w, http.StatusOK, []byte("null"))
		return nil
	}
	if err != nil {
		return err
	}
	var e rawjson.Writer
	encodeItem(&e, it)
	reply(w, http.StatusOK, e.Bytes)
	return nil
}

// missingIsNull reports whether an item that is not there is answered by null,
// as LangGraph's servers do and their SDKs' own tests expect; the Agent
// Protocol's document wants 404. A client that does not say its flavour is known
// by its namespace: LangGraph's SDKs send one parameter with dots.
func missingIsNull(f mapping.Flavour, q *query) bool {
	return f == FlavourLangGraph || f == "" && len(q.values["namespace"]) == 1
}

// namespace: the Agent Protocol repeats the parameter, the SDKs join the
// labels with dots into one.
func (q *query) namespace() []string {
	list := q.values["namespace"]
	if len(list) == 1 {
		if list[0] == "" {
			return nil
		}
		return strings.Split(list[0], ".")
	}
	return list
}

// deleteItem is done when the item is gone, whoever removed it.
func (s *server) deleteItem(w http.ResponseWriter, r *http.Request) error {
	o, err := s.request(w, r, true)
	if err != nil {
		return err
	}
	namespace, key := o.texts("namespace"), o.key()
	if err := o.err(); err != nil {
		return err
	}
	if err := s.svc.Items.Delete(r.Context(), namespace, key); err != nil && !isNotFound(err) {
		return err
	}
	noContent(w)
	return nil
}

func (s *server) searchItems(w http.ResponseWriter, r *http.Request) error {
	o, err := s.request(w, r, false)
	if err != nil {
		return err
	}
	p := o.page(10)
	q := adapter.ItemQuery{
		Prefix: o.texts("namespace_prefix"), Filter: o.object("filter"), Query: o.text("query"),
		Limit: p.limit, Offset: p.offset, RefreshTTL: o.flag("refresh_ttl", false),
	}
	if err := o.err(); err != nil {
		return err
	}
	a := newAnswer(w)
	a.Open('{').Key("items").Open('[')
	for it, err := range s.svc.Items.Search(r.Context(), q) {
		if err != nil {
			return s.breakOff(a, r, err)
		}
		encodeItem(&a.Writer, it)
		if a.spill() != nil {
			return nil
		}
	}
	a.Close(']').Close('}')
	a.end()
	return nil
}

// listNamespaces answers a bare list to the Agent Protocol and {namespaces} to
// LangGraph SDKs. A client that does not say its flavour is taken for a
// LangGraph SDK when it sends both limit and offset, which those always do.
func (s *server) listNamespaces(w http.ResponseWriter, r *http.Request) error {
	o, err := s.request(w, r, false)
	if err != nil {
		return err
	}
	flavour, err := flavourOf(r)
	if err != nil {
		return err
	}
	p := o.page(100)
	q := adapter.NamespaceQuery{
		Prefix: o.texts("prefix"), Suffix: o.texts("suffix"), MaxDepth: o.whole("max_depth", 0, 1, 1000),
		Limit: p.limit, Offset: p.offset,
	}
	if err := o.err(); err != nil {
		return err
	}
	list, err := s.svc.Items.Namespaces(r.Context(), q)
	if err != nil {
		return err
	}
	wrapped := flavour == FlavourLangGraph || flavour == "" && o.get("limit") != nil && o.get("offset") != nil
	replyNamespaces(w, list, wrapped)
	return nil
}

func replyNamespaces(w http.ResponseWriter, list [][]string, wrapped bool) {
	var e rawjson.Writer
	if wrapped {
		e.Open('{').Key("namespaces")
	}
	e.Open('[')
	for _, ns := range list {
		e.Texts(ns)
	}
	e.Close(']')
	if wrapped {
		e.Close('}')
	}
	reply(w, http.StatusOK, e.Bytes)
}
