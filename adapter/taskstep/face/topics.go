package face

import (
	"context"
	"iter"
	"net/http"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/gorilla/mux"
)

// topicEndpoints lists the operations of the Topic RFC ("Endpoint Specifications") below its prefix. Tasks, steps and
// artifacts below a topic are those of v1: the same handlers, which find the topic in the reference.
func (s *server) topicEndpoints() []endpoint {
	return append(s.endpoints("/topics/{topic}"),
		endpoint{http.MethodPost, "/topics/{topic}/interactions", interactions{s}.create, mapping.RightRun},
		endpoint{http.MethodGet, "/topics/{topic}/interactions", interactions{s}.list, mapping.RightRead},
		endpoint{http.MethodGet, "/topics/{topic}/interactions/{interaction}", interactions{s}.get, mapping.RightRead},
		endpoint{http.MethodGet, "/topics/{topic}", topics{s}.get, mapping.RightRead},
		endpoint{http.MethodPost, "/topics", topics{s}.create, mapping.RightWrite},
		endpoint{http.MethodGet, "/topics", topics{s}.list, mapping.RightRead},
	)
}

// topics answers for topics, as the second version calls tasks.
type topics struct{ *server }

// create is createTopic.
func (s topics) create(w http.ResponseWriter, r *http.Request, ref adapter.TaskRef) error {
	req, err := s.read(w, r)
	if err != nil {
		return err
	}
	topic, err := s.svc.CreateTopic(r.Context(), adapter.TopicRequest{
		Agent: ref.Agent, Name: req.Name, AdditionalInput: req.AdditionalInput, IdempotencyKey: r.Header.Get(adapter.IdempotencyKeyHeader),
	})
	if err != nil {
		return err
	}
	_ = send(w, http.StatusCreated, written(s.layout(ref).topicObject, &topic))
	return nil
}

// get is getTopic.
func (s topics) get(w http.ResponseWriter, r *http.Request, ref adapter.TaskRef) error {
	topic, err := s.svc.GetTopic(r.Context(), topicRef(ref))
	if err != nil {
		return err
	}
	_ = send(w, http.StatusOK, written(s.layout(ref).topicObject, &topic))
	return nil
}

// list is listTopics.
func (s topics) list(w http.ResponseWriter, r *http.Request, ref adapter.TaskRef) error {
	return list(s.server, w, r, "topics", func(ctx context.Context, p adapter.Page) (iter.Seq2[rule.Topic, error], int, error) {
		return s.svc.ListTopics(ctx, ref.Agent, p)
	}, s.layout(ref).topicObject)
}

// interactions answers for what is said on a topic.
type interactions struct{ *server }

// create is createInteraction. The words of a user answer the topic's open question, or derive a task;
// additional_input.derive_task says otherwise.
func (s interactions) create(w http.ResponseWriter, r *http.Request, ref adapter.TaskRef) error {
	n, err := s.read(w, r)
	if err != nil {
		return err
	}
	n.Ref, n.IdempotencyKey = topicRef(ref), r.Header.Get(adapter.IdempotencyKeyHeader)
	said, err := s.svc.Say(r.Context(), n)
	if err != nil {
		return err
	}
	_ = send(w, http.StatusCreated, written(s.layout(ref).interaction, &said))
	return nil
}

// list is listTopicInteractions.
func (s interactions) list(w http.ResponseWriter, r *http.Request, ref adapter.TaskRef) error {
	return list(s.server, w, r, "interactions", func(ctx context.Context, p adapter.Page) (iter.Seq2[rule.Interaction, error], int, error) {
		return short(s.svc.ListInteractions(ctx, topicRef(ref), p))
	}, s.layout(ref).interaction)
}

// get is getTopicInteraction.
func (s interactions) get(w http.ResponseWriter, r *http.Request, ref adapter.TaskRef) error {
	id := mux.Vars(r)["interaction"]
	if !storable(id) {
		return mapping.Errorf(mapping.NotFound, "interaction_not_found", "The topic has no interaction with this id.")
	}
	said, err := s.svc.GetInteraction(r.Context(), topicRef(ref), id)
	if err != nil {
		return err
	}
	_ = send(w, http.StatusOK, written(s.layout(ref).interaction, &said))
	return nil
}

func topicRef(ref adapter.TaskRef) adapter.TopicRef {
	return adapter.TopicRef{Agent: ref.Agent, ID: ref.Topic, Flavour: ref.Flavour}
}
