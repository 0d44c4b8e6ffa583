package taskstep

import (
	"net/http"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/gorilla/mux"
)

// mountTopics answers everything below a prefix of the Topic RFC ("Endpoint
// Specifications"). Tasks, steps and artifacts below a topic are those of v1:
// the same handlers, which find the topic in the reference.
func (s *server) mountTopics(r *mux.Router) {
	s.mountOperations(r, "/topics/{topic}", s.endpoints())
	s.mountOperations(r, "/topics", s.topicEndpoints())
	r.Path("").HandlerFunc(s.noRoute)
	r.PathPrefix("/").HandlerFunc(s.noRoute)
}

func (s *server) topicEndpoints() []endpoint {
	return []endpoint{
		{http.MethodPost, "/{topic}/interactions", s.createInteraction},
		{http.MethodGet, "/{topic}/interactions", s.listInteractions},
		{http.MethodGet, "/{topic}/interactions/{interaction}", s.getInteraction},
		{http.MethodGet, "/{topic}", s.getTopic},
		{http.MethodPost, "", s.createTopic},
		{http.MethodGet, "", s.listTopics},
	}
}

// createTopic is createTopic.
func (s *server) createTopic(w http.ResponseWriter, r *http.Request, ref adapter.TaskRef) error {
	req, err := s.readTopic(w, r)
	if err != nil {
		return err
	}
	topic, err := s.svc.Topics.Create(r.Context(), adapter.NewTopic{
		Agent: ref.Agent, Name: req.Name, AdditionalInput: req.AdditionalInput, IdempotencyKey: r.Header.Get(idempotencyKey),
	})
	if err != nil {
		return err
	}
	_ = send(w, http.StatusCreated, s.writer(ref).topicObject(nil, &topic))
	return nil
}

// getTopic is getTopic.
func (s *server) getTopic(w http.ResponseWriter, r *http.Request, ref adapter.TaskRef) error {
	topic, err := s.svc.Topics.Get(r.Context(), topicRef(ref))
	if err != nil {
		return err
	}
	_ = send(w, http.StatusOK, s.writer(ref).topicObject(nil, &topic))
	return nil
}

// listTopics is listTopics. A page behind the last one is empty.
func (s *server) listTopics(w http.ResponseWriter, r *http.Request, ref adapter.TaskRef) error {
	page, err := pageOf(r)
	if err != nil {
		return err
	}
	list, total, err := s.svc.Topics.List(r.Context(), ref.Agent, page)
	if err != nil {
		return err
	}
	_ = send(w, http.StatusOK, appendPage(nil, "topics", list, s.writer(ref).topicObject, page, total))
	return nil
}

// createInteraction is createInteraction. The words of a user answer the
// topic's open question, or derive a task; additional_input.derive_task says
// otherwise.
func (s *server) createInteraction(w http.ResponseWriter, r *http.Request, ref adapter.TaskRef) error {
	n, err := s.readInteraction(w, r)
	if err != nil {
		return err
	}
	n.Ref, n.IdempotencyKey = topicRef(ref), r.Header.Get(idempotencyKey)
	said, err := s.svc.Interactions.Create(r.Context(), n)
	if err != nil {
		return err
	}
	_ = send(w, http.StatusCreated, s.writer(ref).interaction(nil, &said))
	return nil
}

// listInteractions is listTopicInteractions.
func (s *server) listInteractions(w http.ResponseWriter, r *http.Request, ref adapter.TaskRef) error {
	page, err := pageOf(r)
	if err != nil {
		return err
	}
	list, total, err := s.svc.Interactions.List(r.Context(), topicRef(ref), page)
	if err != nil {
		return err
	}
	_ = send(w, http.StatusOK, appendPage(nil, "interactions", list, s.writer(ref).interaction, page, total))
	return nil
}

// getInteraction is getTopicInteraction.
func (s *server) getInteraction(w http.ResponseWriter, r *http.Request, ref adapter.TaskRef) error {
	id := mux.Vars(r)["interaction"]
	if !storable(id) {
		return mapping.Errorf(mapping.NotFound, "interaction_not_found", "The topic has no interaction with this id.")
	}
	said, err := s.svc.Interactions.Get(r.Context(), topicRef(ref), id)
	if err != nil {
		return err
	}
	_ = send(w, http.StatusOK, s.writer(ref).interaction(nil, &said))
	return nil
}

func topicRef(ref adapter.TaskRef) adapter.TopicRef {
	return adapter.TopicRef{Agent: ref.Agent, ID: ref.Topic}
}
