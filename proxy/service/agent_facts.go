package service

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"net/url"
	"sync"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/proxy/engine"
)

// Each process queries a stateful agent once for its schemas and graph. The answer is stored in the database and used
// while the agent is unavailable. An agent that is opaque or cannot describe itself is presented as a graph of one
// node. If an agent has never answered, the request fails.

// maxFactDelay is the maximum wait for an agent if there is something else to return. Chat pages show nothing until the
// response arrives. Otherwise the wait is limited only by the client and the backend.
const maxFactDelay = 5 * time.Second

// factAnswers records the result of each query that this process has made to an agent. If an agent is connected again,
// possibly at another URL, it is queried again. Safe for concurrent use.
type factAnswers struct {
	mu     sync.Mutex
	byName map[string]agentAnswers
}

// agentAnswers holds the results of one agent.
type agentAnswers struct {
	of      *engine.Agent
	answers map[string]factAnswer
}

// factAnswer is the result of a query.
type factAnswer int

const (
	factUnknown factAnswer = iota
	factAnswered
	factUnsupported // the agent cannot describe itself
)

func (a *factAnswers) get(agent *engine.Agent, what string) factAnswer {
	a.mu.Lock()
	defer a.mu.Unlock()
	if q := a.byName[agent.Name]; q.of == agent {
		return q.answers[what]
	}
	return factUnknown
}

func (a *factAnswers) set(agent *engine.Agent, what string, became factAnswer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.byName == nil {
		a.byName = map[string]agentAnswers{}
	}
	if a.byName[agent.Name].of != agent {
		a.byName[agent.Name] = agentAnswers{agent, map[string]factAnswer{}}
	}
	a.byName[agent.Name].answers[what] = became
}

// AgentSchemas returns the schemas of an agent's graph, or those of a graph of one node if the agent cannot provide
// any.
func (s *Service) AgentSchemas(ctx context.Context, idOrName string) (out mapping.Schemas, err error) {
	body, err := s.agentFact(ctx, idOrName, "schemas", func(ctx context.Context, d adapter.Describer) (json.RawMessage, error) {
		schemas, err := d.Schemas(ctx)
		if err != nil {
			return nil, err
		}
		return json.Marshal(schemas)
	})
	if err != nil || body == nil || json.Unmarshal(body, &out) != nil {
		return rule.StepSchemas(), err
	}
	return out, nil
}

// AgentGraph returns an agent's graph, or a graph of one node if the agent cannot provide one.
func (s *Service) AgentGraph(ctx context.Context, idOrName, xray string) (json.RawMessage, error) {
	body, err := s.agentFact(ctx, idOrName, "graph?xray="+xray, func(ctx context.Context, d adapter.Describer) (json.RawMessage, error) {
		return d.Graph(ctx, xray)
	})
	if err == nil && body == nil {
		body = rule.StepGraph()
	}
	return body, err
}

// AgentSubgraphs returns the subgraphs of an agent's graph, or {} if the agent cannot provide any.
func (s *Service) AgentSubgraphs(ctx context.Context, idOrName, namespace string, recurse bool) (json.RawMessage, error) {
	what := "subgraphs/" + url.PathEscape(namespace)
	if recurse {
		what += "?recurse"
	}
	body, err := s.agentFact(ctx, idOrName, what, func(ctx context.Context, d adapter.Describer) (json.RawMessage, error) {
		return d.Subgraphs(ctx, namespace, recurse)
	})
	if err == nil && body == nil {
		body = json.RawMessage(`{}`)
	}
	return body, err
}

// factQuestion queries an agent's description of itself.
type factQuestion func(context.Context, adapter.Describer) (json.RawMessage, error)

// agentFact returns an agent's description of itself, or nil if it has none.
func (s *Service) agentFact(ctx context.Context, idOrName, what string, ask factQuestion) (json.RawMessage, error) {
	a, _, err := s.findAssistant(ctx, idOrName)
	if err != nil {
		return nil, err
	}
	kept, err := s.store.Agents.Fact(ctx, a.Name, what)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return nil, err
	}
	before := s.facts.get(a, what)
	if before == factAnswered && kept != nil {
		return kept, nil
	}
	hurry := kept != nil || before == factUnsupported
	body, err := askAgent(ctx, a, ask, hurry)
	switch {
	case err == nil:
		return body, s.keepFact(ctx, a, what, body)
	case mapping.Classify(err).Code == mapping.CodeNotSupported:
		s.facts.set(a, what, factUnsupported)
	case !hurry:
		return nil, err
	}
	return kept, nil
}

// askAgent queries the agent. It returns a not_supported error if the agent cannot describe itself.
func askAgent(ctx context.Context, a *engine.Agent, ask factQuestion, hurry bool) (json.RawMessage, error) {
	if hurry {
		short, cancel := context.WithTimeout(ctx, maxFactDelay)
		defer cancel()
		ctx = short
	}
	b, _, err := a.Backend(ctx)
	if err != nil {
		return nil, err
	}
	d, ok := b.(adapter.Describer)
	if !ok {
		return nil, mapping.Errorf(mapping.Upstream, mapping.CodeNotSupported, "Agent %q does not describe itself.", a.Name)
	}
	body, err := ask(ctx, d)
	if err == nil && !bytes.HasPrefix(body, []byte("{")) {
		err = mapping.Errorf(mapping.Upstream, mapping.CodeBadUpstream, "Agent %q described itself with something other than a JSON object.", a.Name)
	}
	return body, err
}

// keepFact stores an answer. Empty answers are not stored, since a client may query any namespace.
func (s *Service) keepFact(ctx context.Context, agent *engine.Agent, what string, body json.RawMessage) error {
	if string(body) == "{}" {
		return nil
	}
	s.facts.set(agent, what, factAnswered)
	return s.store.Agents.KeepFact(ctx, agent.Name, what, body)
}
