package face

import (
	"net/http"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/threadrun/face/render"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/gorilla/mux"
)

// Making and changing assistants is LangGraph's alone. Source: AssistantsClient of
// the LangGraph SDKs.

func (s assistants) create(w http.ResponseWriter, r *http.Request) error {
	o, err := s.request(w, r, true)
	if err != nil {
		return err
	}
	o.needed("graph_id", nil)
	n := adapter.NewAssistant{
		ID: o.uuid("assistant_id"), Graph: o.name("graph_id"), Name: o.name("name"), Description: o.text("description"),
		Metadata: o.object("metadata"), Config: configOf(o), Context: o.object("context"),
		IfExists: o.enum("if_exists", "raise", "do_nothing"),
	}
	if err := o.err(); err != nil {
		return err
	}
	a, err := s.svc.Assistants.Create(r.Context(), n)
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

func (s assistants) patch(w http.ResponseWriter, r *http.Request) error {
	o, err := s.request(w, r, true)
	if err != nil {
		return err
	}
	p := adapter.AssistantPatch{
		Graph: o.textPointer("graph_id", o.name), Name: o.textPointer("name", o.name), Description: o.textPointer("description", o.text),
		Metadata: o.object("metadata"), Config: configOf(o), Context: o.object("context"),
	}
	if err := o.err(); err != nil {
		return err
	}
	a, err := s.svc.Assistants.Update(r.Context(), mux.Vars(r)["assistant_id"], p)
	return replyAssistant(w, a, err)
}

func (s assistants) delete(w http.ResponseWriter, r *http.Request) error {
	q := queryOf(r)
	threads := q.flag("delete_threads")
	if err := q.err(); err != nil {
		return err
	}
	if err := s.svc.Assistants.Delete(r.Context(), mux.Vars(r)["assistant_id"], threads); err != nil {
		return err
	}
	noContent(w)
	return nil
}

func (s assistants) versions(w http.ResponseWriter, r *http.Request) error {
	o, err := s.request(w, r, false)
	if err != nil {
		return err
	}
	p := o.page(10)
	q := adapter.VersionQuery{Metadata: o.object("metadata"), Limit: p.limit, Offset: p.offset}
	if err := o.err(); err != nil {
		return err
	}
	list, err := s.svc.Assistants.Versions(r.Context(), mux.Vars(r)["assistant_id"], q)
	if err != nil {
		return err
	}
	replyAgents(w, list, render.Assistant, nil)
	return nil
}

func (s assistants) setLatest(w http.ResponseWriter, r *http.Request) error {
	o, err := s.request(w, r, true)
	if err != nil {
		return err
	}
	o.needed("version", nil)
	version := o.whole("version", 0, 1, 1<<30)
	if err := o.err(); err != nil {
		return err
	}
	a, err := s.svc.Assistants.SetLatest(r.Context(), mux.Vars(r)["assistant_id"], version)
	return replyAssistant(w, a, err)
}
