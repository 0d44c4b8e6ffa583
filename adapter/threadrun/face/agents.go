package face

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/gorilla/mux"
)

var assistantKeys = []string{"assistant_id", "graph_id", "name", "description", "config", "context", "metadata", "version", "created_at", "updated_at"}

func (s *server) searchAssistants(w http.ResponseWriter, r *http.Request) error {
	o, err := s.request(w, r, false)
	if err != nil {
		return err
	}
	q, p := o.assistantQuery(), o.page(10)
	q.SortBy, q.Asc = o.sortOf("assistant_id", "graph_id", "name", "created_at", "updated_at")
	q.Limit, q.Offset = p.limit, p.offset
	names := o.texts("select")
	if err := o.err(); err != nil {
		return err
	}
	set, err := selection(names, assistantKeys...)
	if err != nil {
		return err
	}
	list, total, err := s.svc.Agents.Search(r.Context(), q)
	if err != nil {
		return err
	}
	paginate(w, p, len(list), total)
	replyAgents(w, list, encodeAssistant, set)
	return nil
}

func (o *fields) assistantQuery() adapter.AgentQuery {
	return adapter.AgentQuery{Name: o.text("name"), Graph: o.text("graph_id"), Metadata: o.object("metadata")}
}

func replyAgents(w http.ResponseWriter, list []mapping.Agent, write func(*rawjson.Writer, mapping.Agent), set fieldSet) {
	var e rawjson.Writer
	e.Open('[')
	for _, a := range list {
		var one rawjson.Writer
		write(&one, a)
		set.pick(&e, one.Bytes)
	}
	e.Close(']')
	reply(w, http.StatusOK, e.Bytes)
}

func (s *server) countAssistants(w http.ResponseWriter, r *http.Request) error {
	o, err := s.request(w, r, false)
	if err != nil {
		return err
	}
	q := o.assistantQuery()
	if err := o.err(); err != nil {
		return err
	}
	q.Limit = 1
	_, total, err := s.svc.Agents.Search(r.Context(), q)
	if err != nil {
		return err
	}
	replyNumber(w, total)
	return nil
}

// assistantOf finds the assistant of the path: an id or a graph's name.
func (s *server) assistantOf(r *http.Request) (mapping.Agent, error) {
	return s.svc.Agents.Resolve(r.Context(), mux.Vars(r)["assistant_id"])
}

func (s *server) getAssistant(w http.ResponseWriter, r *http.Request) error {
	a, err := s.assistantOf(r)
	return replyAssistant(w, a, err)
}

// deepest is how far xray may look into a graph.
const deepest = 100

func (s *server) assistantGraph(w http.ResponseWriter, r *http.Request) error {
	q := queryOf(r)
	xray := q.xray()
	if err := q.err(); err != nil {
		return err
	}
	graph, err := s.svc.Agents.Graph(r.Context(), mux.Vars(r)["assistant_id"], xray)
	if err != nil {
		return err
	}
	reply(w, http.StatusOK, graph)
	return nil
}

// xray is true, false, or a depth: "", "true" or the number.
func (q *query) xray() string {
	switch s := strings.ToLower(q.text("xray")); s {
	case "", "false", "0":
		return ""
	case "true":
		return s
	default:
		return strconv.Itoa(q.whole("xray", 1, 1, deepest))
	}
}

func (s *server) assistantSchemas(w http.ResponseWriter, r *http.Request) error {
	a, err := s.assistantOf(r)
	if err != nil {
		return err
	}
	sc, err := s.svc.Agents.Schemas(r.Context(), mux.Vars(r)["assistant_id"])
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

func (s *server) assistantSubgraphs(w http.ResponseWriter, r *http.Request) error {
	q := queryOf(r)
	recurse := q.flag("recurse")
	if err := q.err(); err != nil {
		return err
	}
	vars := mux.Vars(r)
	graphs, err := s.svc.Agents.Subgraphs(r.Context(), vars["assistant_id"], vars["namespace"], recurse)
	if err != nil {
		return err
	}
	reply(w, http.StatusOK, graphs)
	return nil
}

// searchAgents is the Agent Protocol's search.
func (s *server) searchAgents(w http.ResponseWriter, r *http.Request) error {
	o, err := s.request(w, r, false)
	if err != nil {
		return err
	}
	p := o.page(10)
	q := adapter.AgentQuery{Name: o.text("name"), Metadata: o.object("metadata"), Limit: p.limit, Offset: p.offset}
	q.Exact = q.Name != ""
	if err := o.err(); err != nil {
		return err
	}
	list, total, err := s.svc.Agents.Search(r.Context(), q)
	if err != nil {
		return err
	}
	paginate(w, p, len(list), total)
	replyAgents(w, list, encodeAgent, nil)
	return nil
}

func (s *server) getAgent(w http.ResponseWriter, r *http.Request) error {
	a, err := s.svc.Agents.Resolve(r.Context(), mux.Vars(r)["agent_id"])
	if err != nil {
		return err
	}
	var e rawjson.Writer
	encodeAgent(&e, a)
	reply(w, http.StatusOK, e.Bytes)
	return nil
}

func (s *server) agentSchemas(w http.ResponseWriter, r *http.Request) error {
	id := mux.Vars(r)["agent_id"]
	a, err := s.svc.Agents.Resolve(r.Context(), id)
	if err != nil {
		return err
	}
	sc, err := s.svc.Agents.Schemas(r.Context(), id)
	if err != nil {
		return err
	}
	var e rawjson.Writer
	e.Open('{').Key("agent_id").Text(agentID(a))
	schemaMembers(&e, sc)
	e.Close('}')
	reply(w, http.StatusOK, e.Bytes)
	return nil
}

func (s *server) ok(w http.ResponseWriter, _ *http.Request) error {
	reply(w, http.StatusOK, []byte(`{"ok":true}`))
	return nil
}

func (s *server) info(w http.ResponseWriter, _ *http.Request) error {
	var e rawjson.Writer
	e.Open('{').Key("version").Text(s.face.Version).Key("flags").Open('{')
	e.Key("assistants").Bool(true).Key("crons").Bool(true).Key("langsmith").Bool(false)
	e.Close('}').Close('}')
	reply(w, http.StatusOK, e.Bytes)
	return nil
}
