package face

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/threadrun/face/render"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

// items answers for the long-term store.
type items struct{ *server }

func (s items) put(w http.ResponseWriter, r *http.Request) error {
	o, err := s.request(w, r, true)
	if err != nil {
		return err
	}
	item := itemBody{o}
	p := adapter.PutItem{Namespace: item.namespace(), Key: item.key(), Value: o.needed("value", o.object("value")), Index: item.index(), Lost: lostIn(w)}
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

// lostIn says in the answer's header what of a request is followed in part.
func lostIn(w http.ResponseWriter) adapter.Lost {
	return func(l mapping.Loss) { w.Header().Set("X-Apbridge-Lossy", mapping.LossHeader([]mapping.Loss{l})) }
}

// itemBody is the body of a request about items of the store.
type itemBody struct{ *fields }

func (o itemBody) key() string {
	o.needed("key", nil)
	return o.name("key")
}

// namespace reads where an item is put: labels, of which there is at least
// one, none of them empty or with a dot, since one parameter of the GET joins
// them with dots.
func (o itemBody) namespace() []string {
	o.needed("namespace", nil)
	labels := o.labels("namespace")
	if labels != nil && len(labels) == 0 {
		o.complain("namespace", "must have at least one label")
	}
	return labels
}

// labels are those of a namespace, or of what it begins or ends with.
func (o itemBody) labels(name string) []string {
	labels := o.texts(name)
	if slices.ContainsFunc(labels, noLabel) {
		o.complain(name, wantLabels)
	}
	return labels
}

const wantLabels = "must have labels that are not empty and have no dots"

func noLabel(l string) bool { return l == "" || strings.Contains(l, ".") }

// index is false, or a list of paths to embed; null and nothing are the default.
func (o itemBody) index() json.RawMessage {
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

func (s items) get(w http.ResponseWriter, r *http.Request) error {
	q := queryOf(r)
	namespace, key, refresh := namespaceOf(q), q.text("key"), q.flag("refresh_ttl")
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
	render.Item(&e, it)
	reply(w, http.StatusOK, e.Bytes)
	return nil
}

// missingIsNull reports whether an item that is not there is answered by null,
// as LangGraph's servers do and their SDKs' own tests expect; the Agent
// Protocol's document wants 404. A client that does not say its flavour is known
// by its namespace: LangGraph's SDKs send one parameter with dots.
func missingIsNull(f mapping.Flavour, q *query) bool {
	return f == render.FlavourLangGraph || f == "" && len(q.repeated("namespace")) == 1
}

// namespace: the Agent Protocol repeats the parameter, the SDKs join the
// labels with dots into one.
func namespaceOf(q *query) []string {
	list := q.repeated("namespace")
	if len(list) == 1 {
		if list[0] == "" {
			return nil
		}
		list = strings.Split(list[0], ".")
	}
	if slices.ContainsFunc(list, noLabel) {
		q.complain("namespace", wantLabels)
	}
	return list
}

// delete is done when the item is gone, also where another request removed it.
func (s items) delete(w http.ResponseWriter, r *http.Request) error {
	o, err := s.request(w, r, true)
	if err != nil {
		return err
	}
	namespace, key := itemBody{o}.labels("namespace"), itemBody{o}.key()
	if err := o.err(); err != nil {
		return err
	}
	if err := s.svc.Items.Delete(r.Context(), namespace, key); err != nil && !isNotFound(err) {
		return err
	}
	noContent(w)
	return nil
}

func (s items) search(w http.ResponseWriter, r *http.Request) error {
	o, err := s.request(w, r, false)
	if err != nil {
		return err
	}
	p := o.page(10)
	q := adapter.ItemQuery{
		Prefix: itemBody{o}.labels("namespace_prefix"), Filter: o.object("filter"), Query: o.text("query"),
		Limit: p.limit, Offset: p.offset, RefreshTTL: o.flag("refresh_ttl", false), Lost: lostIn(w),
	}
	q.SortBy, q.Asc = o.sortOf("key", "created_at", "updated_at", "score")
	if q.SortBy == "score" && q.Query == "" {
		o.complain("sort_by", "can be score only with a query")
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
		render.Item(&a.Writer, it)
		if a.spill() != nil {
			return nil
		}
	}
	a.Close(']').Close('}')
	a.end()
	return nil
}

// namespaces answers a bare list to the Agent Protocol and {namespaces} to
// LangGraph SDKs. A client that does not say its flavour is taken for a
// LangGraph SDK when it sends both limit and offset, which those always do.
func (s items) namespaces(w http.ResponseWriter, r *http.Request) error {
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
		Prefix: itemBody{o}.labels("prefix"), Suffix: itemBody{o}.labels("suffix"), MaxDepth: o.whole("max_depth", 0, 1, 1000),
		Limit: p.limit, Offset: p.offset,
	}
	if err := o.err(); err != nil {
		return err
	}
	list, err := s.svc.Items.Namespaces(r.Context(), q)
	if err != nil {
		return err
	}
	wrapped := flavour == render.FlavourLangGraph || flavour == "" && o.get("limit") != nil && o.get("offset") != nil
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
