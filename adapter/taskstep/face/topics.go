package face

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/body"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/gorilla/mux"
)

// topicEndpoints returns the operations of the Topic RFC ("Endpoint Specifications") below its prefix. Tasks, steps and
// artifacts of a topic are served by the v1 handlers, which get the topic in the reference.
func (s *server) topicEndpoints() []endpoint {
	return append(s.endpoints("/topics/{topic}"),
		endpoint{http.MethodPost, "/topics/{topic}/interactions", s.createInteraction, mapping.RightRun},
		endpoint{http.MethodGet, "/topics/{topic}/interactions", s.listInteractions, mapping.RightRead},
		endpoint{http.MethodGet, "/topics/{topic}/interactions/{interaction}", s.getInteraction, mapping.RightRead},
		endpoint{http.MethodGet, "/topics/{topic}", s.getTopic, mapping.RightRead},
		endpoint{http.MethodPost, "/topics", s.createTopic, mapping.RightWrite},
		endpoint{http.MethodGet, "/topics", s.listTopics, mapping.RightRead},
	)
}

func (s *server) createTopic(w http.ResponseWriter, r *http.Request, ref adapter.TaskRef) error {
	req, err := s.readTopic(w, r)
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

func (s *server) getTopic(w http.ResponseWriter, r *http.Request, ref adapter.TaskRef) error {
	topic, err := s.svc.GetTopic(r.Context(), topicRef(ref))
	if err != nil {
		return err
	}
	_ = send(w, http.StatusOK, written(s.layout(ref).topicObject, &topic))
	return nil
}

func (s *server) listTopics(w http.ResponseWriter, r *http.Request, ref adapter.TaskRef) error {
	return list(s, w, r, "topics", func(ctx context.Context, p adapter.Page) (iter.Seq2[rule.Topic, error], int, error) {
		return s.svc.ListTopics(ctx, ref.Agent, p)
	}, s.layout(ref).topicObject)
}

// createInteraction adds an interaction to a topic. A user's input answers the topic's open question or, if there is
// none, derives a task; additional_input.derive_task overrides this.
func (s *server) createInteraction(w http.ResponseWriter, r *http.Request, ref adapter.TaskRef) error {
	n, err := s.readInteraction(w, r)
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

// listInteractions serves the operation listTopicInteractions.
func (s *server) listInteractions(w http.ResponseWriter, r *http.Request, ref adapter.TaskRef) error {
	return list(s, w, r, "interactions", func(ctx context.Context, p adapter.Page) (iter.Seq2[rule.Interaction, error], int, error) {
		return short(s.svc.ListInteractions(ctx, topicRef(ref), p))
	}, s.layout(ref).interaction)
}

// getInteraction serves the operation getTopicInteraction.
func (s *server) getInteraction(w http.ResponseWriter, r *http.Request, ref adapter.TaskRef) error {
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

// topicRequest is the body of a topic POST.
type topicRequest struct {
	Name            *string
	AdditionalInput json.RawMessage
}

func (s *server) readTopic(w http.ResponseWriter, r *http.Request) (topicRequest, error) {
	var req topicRequest
	raw, err := s.readBody(w, r)
	if err != nil || len(raw) == 0 {
		return req, err
	}
	err = body.Object(raw, s.face.Limits.MaxJSONDepth, func(name string, v json.RawMessage) error {
		switch name {
		case "name":
			return takeString(name, v, &req.Name)
		case "additional_input":
			return takeObject(name, v, &req.AdditionalInput)
		}
		return body.Unknown(w.Header(), name, "name", "additional_input")
	})
	return req, err
}

// readInteraction reads {role, input, additional_input}. The role is user by default.
func (s *server) readInteraction(w http.ResponseWriter, r *http.Request) (adapter.InteractionRequest, error) {
	var n adapter.InteractionRequest
	raw, err := s.readBody(w, r)
	if err != nil {
		return n, err
	}
	if len(raw) == 0 {
		return n, malformed("An interaction needs a body: {\"input\": \"…\"}.")
	}
	var role *string
	err = body.Object(raw, s.face.Limits.MaxJSONDepth, func(name string, v json.RawMessage) error {
		switch name {
		case "role":
			return takeString(name, v, &role)
		case "input":
			return takeString(name, v, &n.Input)
		case "additional_input":
			return takeObject(name, v, &n.AdditionalInput)
		}
		return body.Unknown(w.Header(), name, "role", "input", "additional_input")
	})
	if err != nil {
		return n, err
	}
	if n.Role, err = roleOf(role); err != nil {
		return n, err
	}
	ignoreOwn(w.Header(), n.AdditionalInput)
	n.Derive, err = deriveTask(n.AdditionalInput)
	return n, err
}

func roleOf(said *string) (rule.Role, error) {
	if said == nil {
		return rule.RoleUser, nil
	}
	switch role := rule.Role(*said); role {
	case rule.RoleUser, rule.RoleAgent, rule.RoleSystem:
		return role, nil
	}
	what := "user, agent or system"
	if near := mapping.Misspelt(*said, []string{string(rule.RoleUser), string(rule.RoleAgent), string(rule.RoleSystem)}); near != "" {
		what += ", and probably meant " + near
	}
	return "", invalid("body", "role", what)
}

// deriveTask returns additional_input.derive_task, or nil if it is absent.
func deriveTask(additional json.RawMessage) (*bool, error) {
	var extra struct {
		Derive json.RawMessage `json:"derive_task"`
	}
	if len(additional) == 0 || json.Unmarshal(additional, &extra) != nil || len(extra.Derive) == 0 || string(extra.Derive) == "null" {
		return nil, nil
	}
	var derive bool
	if json.Unmarshal(extra.Derive, &derive) != nil {
		return nil, invalid("body", "additional_input.derive_task", "true or false")
	}
	return &derive, nil
}
