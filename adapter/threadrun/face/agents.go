package face

import (
	"net/http"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/threadrun/face/render"
	"github.com/apbridge/apbridge/adapter/threadrun/face/request"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/gorilla/mux"
)

// searchAgents serves the Agent Protocol's search.
func (s *server) searchAgents(w http.ResponseWriter, r *http.Request) error {
	o, err := s.request(w, r, false)
	if err != nil {
		return err
	}
	p := request.PageOf(o, 10)
	q := adapter.AgentQuery{Name: o.Text("name"), Metadata: o.Object("metadata"), Limit: p.Limit, Offset: p.Offset}
	q.Exact = q.Name != ""
	if err := o.Err(); err != nil {
		return err
	}
	list, total, err := s.svc.SearchAssistants(r.Context(), q)
	if err != nil {
		return err
	}
	paginate(w, p, len(list), total)
	replyAgents(w, list, render.Agent, nil)
	return nil
}

func (s *server) getAgent(w http.ResponseWriter, r *http.Request) error {
	a, err := s.svc.GetAssistant(r.Context(), mux.Vars(r)["agent_id"])
	if err != nil {
		return err
	}
	var e rawjson.Writer
	render.Agent(&e, a)
	reply(w, http.StatusOK, e.Bytes)
	return nil
}

func (s *server) getAgentSchemas(w http.ResponseWriter, r *http.Request) error {
	id := mux.Vars(r)["agent_id"]
	a, err := s.svc.GetAssistant(r.Context(), id)
	if err != nil {
		return err
	}
	sc, err := s.svc.AgentSchemas(r.Context(), id)
	if err != nil {
		return err
	}
	var e rawjson.Writer
	e.Open('{').Key("agent_id").Text(render.AgentID(a))
	schemaMembers(&e, sc)
	e.Close('}')
	reply(w, http.StatusOK, e.Bytes)
	return nil
}
