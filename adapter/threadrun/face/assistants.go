package face

import (
	"cmp"
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/threadrun/face/render"
	"github.com/apbridge/apbridge/adapter/threadrun/face/request"
	"github.com/apbridge/apbridge/adapter/threadrun/face/selection"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/gorilla/mux"
)

var assistantKeys = []string{"assistant_id", "graph_id", "name", "description", "config", "context", "metadata", "version", "created_at", "updated_at"}

var assistantSorts = []request.Sort{
	{Word: "assistant_id", By: mapping.SortByID}, {Word: "graph_id", By: mapping.SortByAgent}, {Word: "name", By: mapping.SortByName},
	{Word: "created_at", By: mapping.SortByCreated}, {Word: "updated_at", By: mapping.SortByUpdated},
}

func (s *server) searchAssistants(w http.ResponseWriter, r *http.Request) error {
	o, err := s.request(w, r, false)
	if err != nil {
		return err
	}
	q, p := assistantQuery(o), request.PageOf(o, 10)
	q.SortBy, q.Asc = request.SortOf(o, assistantSorts...)
	q.Limit, q.Offset = p.Limit, p.Offset
	set, err := selection.Of(o.Texts("select"), assistantKeys...)
	if err := cmp.Or(o.Err(), err); err != nil {
		return err
	}
	list, total, err := s.svc.SearchAssistants(r.Context(), q)
	if err != nil {
		return err
	}
	paginate(w, p, len(list), total)
	replyAgents(w, list, render.Assistant, set)
	return nil
}

// listAssistants serves GET /assistants as Aegra does, with paging.
func (s *server) listAssistants(w http.ResponseWriter, r *http.Request) error {
	q := request.QueryOf(r)
	p := request.PageOf(q, usuallyListed)
	if err := q.Err(); err != nil {
		return err
	}
	list, total, err := s.svc.SearchAssistants(r.Context(), adapter.AgentQuery{Limit: p.Limit, Offset: p.Offset})
	if err != nil {
		return err
	}
	paginate(w, p, len(list), total)
	var e rawjson.Writer
	e.Open('{').Key("assistants")
	writeAgents(&e, list, render.Assistant, nil)
	reply(w, http.StatusOK, e.Key("total").Int(int64(total)).Close('}').Bytes)
	return nil
}

func assistantQuery(o *request.Fields) adapter.AgentQuery {
	return adapter.AgentQuery{Name: o.Text("name"), Graph: o.Text("graph_id"), Metadata: o.Object("metadata")}
}

func replyAgents(w http.ResponseWriter, list []mapping.Assistant, write func(*rawjson.Writer, mapping.Assistant), set selection.Set) {
	var e rawjson.Writer
	writeAgents(&e, list, write, set)
	reply(w, http.StatusOK, e.Bytes)
}

func writeAgents(e *rawjson.Writer, list []mapping.Assistant, write func(*rawjson.Writer, mapping.Assistant), set selection.Set) {
	e.Open('[')
	for _, a := range list {
		var one rawjson.Writer
		write(&one, a)
		set.Pick(e, one.Bytes)
	}
	e.Close(']')
}

func (s *server) countAssistants(w http.ResponseWriter, r *http.Request) error {
	return count(s, w, r, assistantQuery, func(ctx context.Context, q adapter.AgentQuery) (int, error) {
		q.Limit = 1
		_, total, err := s.svc.SearchAssistants(ctx, q)
		return total, err
	})
}

// assistantOf returns the assistant in the path, which is given by its id or the name of its graph.
func (s *server) assistantOf(r *http.Request) (mapping.Assistant, error) {
	return s.svc.GetAssistant(r.Context(), mux.Vars(r)["assistant_id"])
}

func (s *server) getAssistant(w http.ResponseWriter, r *http.Request) error {
	a, err := s.assistantOf(r)
	return replyAssistant(w, a, err)
}

// deepest is the maximum depth of xray.
const deepest = 100

func (s *server) getAssistantGraph(w http.ResponseWriter, r *http.Request) error {
	q := request.QueryOf(r)
	xray := xrayOf(q)
	if err := q.Err(); err != nil {
		return err
	}
	graph, err := s.svc.AgentGraph(r.Context(), mux.Vars(r)["assistant_id"], xray)
	if err != nil {
		return err
	}
	reply(w, http.StatusOK, graph)
	return nil
}

// xrayOf reads xray: true, false or a depth. It returns "true", "" or the number.
func xrayOf(q *request.Query) string {
	switch s := strings.ToLower(q.Text("xray")); s {
	case "", "false", "0":
		return ""
	case "true":
		return s
	default:
		return strconv.Itoa(q.Whole("xray", 1, 1, deepest))
	}
}

func (s *server) getAssistantSchemas(w http.ResponseWriter, r *http.Request) error {
	a, err := s.assistantOf(r)
	if err != nil {
		return err
	}
	sc, err := s.svc.AgentSchemas(r.Context(), mux.Vars(r)["assistant_id"])
	if err != nil {
		return err
	}
	var e rawjson.Writer
	e.Open('{').Key("graph_id").Text(a.Graph)
	schemaMembers(&e, sc)
	e.Key("context_schema").Raw(sc.Context, "{}").Close('}')
	reply(w, http.StatusOK, e.Bytes)
	return nil
}

func schemaMembers(e *rawjson.Writer, sc mapping.Schemas) {
	e.Key("input_schema").Raw(sc.Input, "{}").Key("output_schema").Raw(sc.Output, "{}")
	e.Key("state_schema").Raw(sc.State, "{}").Key("config_schema").Raw(sc.Config, "{}")
}

func (s *server) getAssistantSubgraphs(w http.ResponseWriter, r *http.Request) error {
	q := request.QueryOf(r)
	recurse := q.Flag("recurse")
	if err := q.Err(); err != nil {
		return err
	}
	vars := mux.Vars(r)
	graphs, err := s.svc.AgentSubgraphs(r.Context(), vars["assistant_id"], vars["namespace"], recurse)
	if err != nil {
		return err
	}
	reply(w, http.StatusOK, graphs)
	return nil
}

// Only LangGraph's clients create and change assistants. Source: AssistantsClient of the LangGraph SDKs.

func (s *server) createAssistant(w http.ResponseWriter, r *http.Request) error {
	o, err := s.request(w, r, true)
	if err != nil {
		return err
	}
	o.Needed("graph_id", nil)
	n := adapter.AssistantRequest{
		ID: o.UUID("assistant_id"), Graph: o.Name("graph_id"), Name: o.Name("name"), Description: o.Text("description"),
		Metadata: o.Object("metadata"), Config: configOf(o), Context: contextOf(o),
		OrGet: o.Enum("if_exists", "raise", "do_nothing") == "do_nothing", IdempotencyKey: r.Header.Get(adapter.IdempotencyKeyHeader),
	}
	if err := o.Err(); err != nil {
		return err
	}
	a, err := s.svc.CreateAssistant(r.Context(), n)
	return replyAssistant(w, a, err)
}

func replyAssistant(w http.ResponseWriter, a mapping.Assistant, err error) error {
	if err != nil {
		return err
	}
	var e rawjson.Writer
	render.Assistant(&e, a)
	reply(w, http.StatusOK, e.Bytes)
	return nil
}

func (s *server) patchAssistant(w http.ResponseWriter, r *http.Request) error {
	o, err := s.request(w, r, true)
	if err != nil {
		return err
	}
	p := adapter.AssistantPatch{
		Graph: request.TextPointer(o, "graph_id", o.Name), Name: request.TextPointer(o, "name", o.Name), Description: request.TextPointer(o, "description", o.Text),
		Metadata: o.Object("metadata"), Config: configOf(o), Context: contextOf(o),
	}
	if err := o.Err(); err != nil {
		return err
	}
	a, err := s.svc.UpdateAssistant(r.Context(), mux.Vars(r)["assistant_id"], p)
	return replyAssistant(w, a, err)
}

func (s *server) deleteAssistant(w http.ResponseWriter, r *http.Request) error {
	q := request.QueryOf(r)
	threads := q.Flag("delete_threads")
	if err := q.Err(); err != nil {
		return err
	}
	if err := s.svc.DeleteAssistant(r.Context(), mux.Vars(r)["assistant_id"], threads); err != nil {
		return err
	}
	noContent(w)
	return nil
}

func (s *server) listAssistantVersions(w http.ResponseWriter, r *http.Request) error {
	o, err := s.request(w, r, false)
	if err != nil {
		return err
	}
	p := request.PageOf(o, 10)
	q := adapter.VersionQuery{Metadata: o.Object("metadata"), Limit: p.Limit, Offset: p.Offset}
	if err := o.Err(); err != nil {
		return err
	}
	list, err := s.svc.ListAssistantVersions(r.Context(), mux.Vars(r)["assistant_id"], q)
	if err != nil {
		return err
	}
	replyAgents(w, list, render.Assistant, nil)
	return nil
}

func (s *server) setLatestAssistant(w http.ResponseWriter, r *http.Request) error {
	o, err := s.request(w, r, true)
	if err != nil {
		return err
	}
	o.Needed("version", nil)
	version := o.Whole("version", 0, 1, 1<<30)
	if err := o.Err(); err != nil {
		return err
	}
	a, err := s.svc.SetAssistantVersion(r.Context(), mux.Vars(r)["assistant_id"], version)
	return replyAssistant(w, a, err)
}
