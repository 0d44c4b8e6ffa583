package face

import (
	"net/http"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/threadrun/face/render"
	"github.com/apbridge/apbridge/adapter/threadrun/face/request"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/gorilla/mux"
)

// Making and changing assistants is LangGraph's alone. Source: AssistantsClient of the LangGraph SDKs.

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
