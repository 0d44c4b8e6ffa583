package face

import (
	"context"
	"net/http"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/gorilla/mux"
)

// topicEndpoints lists the operations of the Topic RFC ("Endpoint
// Specifications") below its prefix. Tasks, steps and artifacts below a topic
// are those of v1: the same handlers, which find the topic in the reference.
func (s *server) topicEndpoints() []endpoint {
	return append(s.endpoints("/topics/{topic}"),
		endpoint{http.MethodPost, "/topics/{topic}/interactions", s.createInteraction},
		endpoint{http.MethodGet, "/topics/{topic}/interactions", s.listInteractions},
		endpoint{http.MethodGet, "/topics/{topic}/interactions/{interaction}", s.getInteraction},
		endpoint{http.MethodGet, "/topics/{topic}", s.getTopic},
		endpoint{http.MethodPost, "/topics", s.createTopic},
		endpoint{http.MethodGet, "/topics", s.listTopics},
	)
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
	_ = send(w, http.StatusCreated, written(s.layout(ref).topicObject, &topic))
	return nil
}

// getTopic is getTopic.
func (s *server) getTopic(w http.ResponseWriter, r *http.Request, ref adapter.TaskRef) error {
	topic, err := s.svc.Topics.Get(r.Context(), topicRef(ref))
	if err != nil {
		return err
	}
	_ = send(w, http.StatusOK, written(s.layout(ref).topicObject, &topic))
	return nil
}

// listTopics is listTopics.
func (s *server) listTopics(w http.ResponseWriter, r *http.Request, ref adapter.TaskRef) error {
	return list(w, r, "topics", func(ctx context.Context, p adapter.Page) ([]rule.Topic, int, error) {
		return s.svc.Topics.List(ctx, ref.Agent, p)
	}, s.layout(ref).topicObject)
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
	_ = send(w, http.StatusCreated, written(s.layout(ref).interaction, &said))
	return nil
}

// listInteractions is listTopicInteractions.
func (s *server) listInteractions(w http.ResponseWriter, r *http.Request, ref adapter.TaskRef) error {
	return list(w, r, "interactions", func(ctx context.Context, p adapter.Page) ([]rule.Interaction, int, error) {
		return s.svc.Interactions.List(ctx, topicRef(ref), p)
	}, s.layout(ref).interaction)
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
	_ = send(w, http.StatusOK, written(s.layout(ref).interaction, &said))
	return nil
}

func topicRef(ref adapter.TaskRef) adapter.TopicRef {
	return adapter.TopicRef{Agent: ref.Agent, ID: ref.Topic, Flavour: ref.Flavour}
}
