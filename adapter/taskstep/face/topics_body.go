package face

import (
	"encoding/json"
	"net/http"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/body"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
)

// topicRequest is the body of a topic POST.
type topicRequest struct {
	Name            *string
	AdditionalInput json.RawMessage
}

func (s topics) read(w http.ResponseWriter, r *http.Request) (topicRequest, error) {
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

// read reads {role, input, additional_input}; without a role the user speaks.
func (s interactions) read(w http.ResponseWriter, r *http.Request) (adapter.InteractionRequest, error) {
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

// deriveTask is additional_input.derive_task; nil when it is not said.
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
