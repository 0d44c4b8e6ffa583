package service

import (
	"context"
	"encoding/json"
	"sort"
	"strings"

	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/engine"
)

// findAgent returns a configured agent by name or assistant id; an empty name means the default agent. It returns
// NotFound for an agent that the principal may not use.
func (s *Service) findAgent(ctx context.Context, idOrName string) (*engine.Agent, error) {
	return s.findAgentOr(ctx, idOrName, "There is no agent %q.")
}

// noAssistant begins like the message of LangGraph's server, by which clients recognise the error.
const noAssistant = "No assistant found for %q."

// findAgentOr is like findAgent, with another message for an unknown name.
func (s *Service) findAgentOr(ctx context.Context, idOrName, refusal string) (*engine.Agent, error) {
	name := idOrName
	if name == "" {
		name = s.engine.Config().DefaultAgent
	}
	if name == "" {
		return nil, mapping.Errorf(mapping.Invalid, mapping.CodeAgentNotFound,
			"No agent was named and there is no default one. Name one of: %s (or set default_agent in the bridge's configuration).", s.agentNames(ctx))
	}
	if known, ok := s.agentsByID()[strings.ToLower(name)]; ok {
		name = known
	}
	a, ok := s.engine.Agent(name)
	if !ok || !mapping.PrincipalOf(ctx).May(name) {
		return nil, mapping.Errorf(mapping.NotFound, mapping.CodeAgentNotFound,
			refusal+" Known agents: %s.", idOrName, s.agentNames(ctx))
	}
	return a, nil
}

func (s *Service) agentNames(ctx context.Context) string {
	var list []string
	for name := range s.engine.Config().Agents {
		if mapping.PrincipalOf(ctx).May(name) {
			list = append(list, name)
		}
	}
	sort.Strings(list)
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, ", ")
}

// findAssistant returns the target of a request for a run: a configured agent, like findAgent, or an assistant created
// over one.
func (s *Service) findAssistant(ctx context.Context, idOrName string) (*engine.Agent, *mapping.Assistant, error) {
	made, err := s.madeAssistant(ctx, idOrName)
	if err != nil {
		return nil, nil, err
	}
	if made != nil {
		a, err := s.findAgent(ctx, made.Graph)
		return a, made, err
	}
	a, err := s.findAgentOr(ctx, idOrName, noAssistant)
	if err != nil {
		return nil, nil, err
	}
	return a, s.configuredAssistant(a), nil
}

// configuredAssistant returns a configured agent as an assistant, without its times.
func (s *Service) configuredAssistant(a *engine.Agent) *mapping.Assistant {
	return s.withTraits(&mapping.Assistant{
		ID: mapping.AssistantID(a.Name), Graph: a.Name, Name: a.Name, Version: 1, Configured: true,
		Metadata: json.RawMessage(`{"created_by":"system"}`), Config: json.RawMessage(`{}`), Context: json.RawMessage(`{}`),
	})
}

// madeAssistant returns an assistant created by a client, or nil if there is none or the principal may not use its
// agent.
func (s *Service) madeAssistant(ctx context.Context, id string) (*mapping.Assistant, error) {
	id = strings.ToLower(id)
	if _, configured := s.agentsByID()[id]; configured || !mapping.IsUUID(id) {
		return nil, nil
	}
	return s.storedAssistant(ctx, id)
}

func (s *Service) storedAssistant(ctx context.Context, id string) (*mapping.Assistant, error) {
	a, err := s.store.Assistants.Get(ctx, id)
	switch {
	case mapping.Classify(err).Class == mapping.NotFound:
		return nil, nil
	case err != nil:
		return nil, err
	case !mapping.PrincipalOf(ctx).May(a.Graph):
		return nil, nil
	}
	return s.withTraits(&a), nil
}

// agentFilter returns the values that a filter by agent must match in the two columns: the name of a configured agent,
// or the id of an assistant over any agent.
func (s *Service) agentFilter(idOrName string) (agent, assistant string) {
	id := strings.ToLower(idOrName)
	if name, ok := s.agentsByID()[id]; ok {
		return name, id
	}
	if idOrName == "" || mapping.IsUUID(id) {
		return "", id
	}
	return idOrName, mapping.AssistantID(idOrName)
}

// withTraits sets the known traits of the assistant's agent and returns the assistant.
func (s *Service) withTraits(a *mapping.Assistant) *mapping.Assistant {
	if agent, ok := s.engine.Agent(a.Graph); ok {
		traits, _ := agent.Known()
		a.Exposes = traits.Exposes
	}
	return a
}

func (s *Service) GetAssistant(ctx context.Context, idOrName string) (mapping.Assistant, error) {
	made, err := s.madeAssistant(ctx, idOrName)
	if err != nil {
		return mapping.Assistant{}, err
	}
	if made != nil {
		return *made, nil
	}
	a, err := s.findAgentOr(ctx, idOrName, noAssistant)
	if err != nil {
		return mapping.Assistant{}, err
	}
	return s.describeAgent(ctx, a)
}

func (s *Service) describeAgent(ctx context.Context, a *engine.Agent) (mapping.Assistant, error) {
	seen, err := s.store.Agents.Seen(ctx, a.Name)
	d := *s.configuredAssistant(a)
	d.CreatedAt, d.UpdatedAt = seen, seen
	return d, err
}

// agentIDs holds the assistant ids of the agents of a configuration.
type agentIDs struct {
	of   *config.Config
	byID map[string]string // assistant id → config name
}

// agentsByID maps assistant ids to the names of the currently configured agents. The caller must not modify it.
func (s *Service) agentsByID() map[string]string {
	cfg := s.engine.Config()
	if n := s.agentIDs.Load(); n != nil && n.of == cfg {
		return n.byID
	}
	n := &agentIDs{of: cfg, byID: make(map[string]string, len(cfg.Agents))}
	for name := range cfg.Agents {
		n.byID[mapping.AssistantID(name)] = name
	}
	s.agentIDs.Store(n)
	return n.byID
}
