package face

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/threadrun/face/render"
	"github.com/apbridge/apbridge/adapter/threadrun/face/request"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

var itemSorts = []request.Sort{
	{Word: "key", By: mapping.SortByKey}, {Word: "created_at", By: mapping.SortByCreated}, {Word: "updated_at", By: mapping.SortByUpdated},
	{Word: "score", By: mapping.SortByScore},
}

func (s *server) putItem(w http.ResponseWriter, r *http.Request) error {
	o, err := s.request(w, r, true)
	if err != nil {
		return err
	}
	p := adapter.PutItem{Namespace: itemNamespace(o), Key: itemKey(o), Value: o.Needed("value", o.Object("value")), Index: indexOf(o), Lost: lostIn(w)}
	if ttl := request.Minutes(o, "ttl"); ttl != nil {
		p.TTL = *ttl
	}
	if err := o.Err(); err != nil {
		return err
	}
	if err := s.svc.PutItem(r.Context(), p); err != nil {
		return err
	}
	noContent(w)
	return nil
}

// lostIn returns a function that adds a loss to the response header.
func lostIn(w http.ResponseWriter) adapter.OnLoss {
	return func(l mapping.Loss) { w.Header().Set("X-Apbridge-Unsupported", mapping.LossHeader([]mapping.Loss{l})) }
}

func itemKey(o *request.Fields) string {
	o.Needed("key", nil)
	return o.Name("key")
}

// itemNamespace reads the namespace of an item, which has at least one label. Labels must not be empty or contain dots,
// because a GET joins them with dots in one parameter.
func itemNamespace(o *request.Fields) []string {
	o.Needed("namespace", nil)
	labels := labelsOf(o, "namespace")
	if labels != nil && len(labels) == 0 {
		o.Refuse("namespace", "must have at least one label")
	}
	return labels
}

// labelsOf reads the labels of a namespace, or of its prefix or suffix.
func labelsOf(o *request.Fields, name string) []string {
	labels := o.Texts(name)
	if slices.ContainsFunc(labels, noLabel) {
		o.Refuse(name, wantLabels)
	}
	return labels
}

const wantLabels = "must have non-empty labels without dots"

func noLabel(l string) bool { return l == "" || strings.Contains(l, ".") }

// indexOf reads index: false, or a list of paths to embed. null and no value mean the default.
func indexOf(o *request.Fields) json.RawMessage {
	v := o.Get("index")
	switch rawjson.Kind(v) {
	case 0, 'f':
	case '[':
		o.Texts("index")
	default:
		o.Refuse("index", "must be false or a list of paths, not %s", request.KindName(v))
	}
	return v
}

func (s *server) getItem(w http.ResponseWriter, r *http.Request) error {
	q := request.QueryOf(r)
	namespace, key, refresh := namespaceOf(q), q.Text("key"), q.FlagSent("refresh_ttl")
	if key == "" {
		q.Refuse("key", "is required")
	}
	if err := q.Err(); err != nil {
		return err
	}
	flavour, err := flavourOf(r)
	if err != nil {
		return err
	}
	it, err := s.svc.GetItem(r.Context(), namespace, key, refresh)
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

// missingIsNull reports whether the response for a missing item is null, as LangGraph's servers send it and the tests
// of their SDKs expect. The Agent Protocol's document requires 404. If the flavour is unknown, it is derived from the
// namespace, which LangGraph's SDKs send as one parameter with dots.
func missingIsNull(f mapping.Flavour, q *request.Query) bool {
	return f == render.FlavourLangGraph || f == "" && len(q.Repeated("namespace")) == 1
}

// namespaceOf reads a namespace. The Agent Protocol repeats the parameter; the SDKs join the labels with dots.
func namespaceOf(q *request.Query) []string {
	list := q.Repeated("namespace")
	if len(list) == 1 {
		if list[0] == "" {
			return nil
		}
		list = strings.Split(list[0], ".")
	}
	if slices.ContainsFunc(list, noLabel) {
		q.Refuse("namespace", wantLabels)
	}
	return list
}

// deleteItem deletes an item. It returns no error if the item does not exist.
func (s *server) deleteItem(w http.ResponseWriter, r *http.Request) error {
	o, err := s.request(w, r, true)
	if err != nil {
		return err
	}
	namespace, key := labelsOf(o, "namespace"), itemKey(o)
	if err := o.Err(); err != nil {
		return err
	}
	if err := s.svc.DeleteItem(r.Context(), namespace, key); err != nil && !isNotFound(err) {
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
	p := request.PageOf(o, 10)
	q := adapter.ItemQuery{
		Prefix: labelsOf(o, "namespace_prefix"), Filter: o.Object("filter"), Query: o.Text("query"),
		Limit: p.Limit, Offset: p.Offset, RefreshTTL: o.FlagSent("refresh_ttl"), Lost: lostIn(w),
	}
	q.SearchBy = mapping.SearchBy(o.Enum("search_by", string(mapping.SearchByMeaning), string(mapping.SearchByWords)))
	if q.SearchBy != "" && q.Query == "" {
		o.Refuse("search_by", "needs a query")
	}
	q.SortBy, q.Asc = request.SortOf(o, itemSorts...)
	if q.SortBy == mapping.SortByScore && q.Query == "" {
		o.Refuse("sort_by", "can only be score with a query")
	}
	if err := o.Err(); err != nil {
		return err
	}
	a := newAnswer(w)
	a.Open('{').Key("items").Open('[')
	for it, err := range s.svc.SearchItems(r.Context(), q) {
		if err != nil {
			return s.breakOff(a, r, err)
		}
		render.Item(&a.Writer, it)
		if a.spill() != nil {
			return nil
		}
	}
	a.Close(']').Close('}')
	a.sendRest()
	return nil
}

// listNamespaces responds with a list to the Agent Protocol and with {namespaces} to LangGraph SDKs. A client of
// unknown flavour counts as a LangGraph SDK if it sends both limit and offset, because the SDKs always do.
func (s *server) listNamespaces(w http.ResponseWriter, r *http.Request) error {
	o, err := s.request(w, r, false)
	if err != nil {
		return err
	}
	flavour, err := flavourOf(r)
	if err != nil {
		return err
	}
	p := request.PageOf(o, 100)
	q := adapter.NamespaceQuery{
		Prefix: labelsOf(o, "prefix"), Suffix: labelsOf(o, "suffix"), MaxDepth: o.Whole("max_depth", 0, 1, 1000),
		Limit: p.Limit, Offset: p.Offset,
	}
	if err := o.Err(); err != nil {
		return err
	}
	list, err := s.svc.ListNamespaces(r.Context(), q)
	if err != nil {
		return err
	}
	wrapped := flavour == render.FlavourLangGraph || flavour == "" && o.Get("limit") != nil && o.Get("offset") != nil
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
