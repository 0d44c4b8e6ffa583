package directory

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
	"github.com/apbridge/apbridge/proxy/store/assistant"
)

// What a stateful agent says of itself is asked for once by each process and kept in the database, from where it is
// told while the agent is away. An agent that cannot say is described as what the bridge is in front of an opaque
// agent: a graph of one node. So is one that takes long to say, until it has.

// factPatience is how long a client waits for what an agent says of itself: chat pages show nothing before.
const factPatience = 5 * time.Second

// asked remembers which questions this process has put to agents. One that is dialled anew, maybe elsewhere, is asked
// again. Safe for concurrent use.
type asked struct {
	mu     sync.Mutex
	byName map[string]questions
}

// questions are those that an agent has answered.
type questions struct {
	of   *engine.Agent
	done map[string]bool
}

func (a *asked) has(agent *engine.Agent, what string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	q := a.byName[agent.Name]
	return q.of == agent && q.done[what]
}

func (a *asked) set(agent *engine.Agent, what string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.byName == nil {
		a.byName = map[string]questions{}
	}
	if a.byName[agent.Name].of != agent {
		a.byName[agent.Name] = questions{agent, map[string]bool{}}
	}
	a.byName[agent.Name].done[what] = true
}

// Schemas returns the schemas of an agent's graph, or those of a graph of one node where the agent has not said any.
func (s *facts) Schemas(ctx context.Context, idOrName string) (out mapping.Schemas, err error) {
	body, err := s.fact(ctx, idOrName, "schemas", func(ctx context.Context, d adapter.Describer) (json.RawMessage, error) {
		schemas, err := d.Schemas(ctx)
		if err != nil {
			return nil, err
		}
		return json.Marshal(schemas)
	})
	if err != nil || body == nil || json.Unmarshal(body, &out) != nil {
		return rule.OpaqueSchemas(), err
	}
	return out, nil
}

// Graph returns an agent's graph, or a graph of one node where the agent has not said any.
func (s *facts) Graph(ctx context.Context, idOrName, xray string) (json.RawMessage, error) {
	body, err := s.fact(ctx, idOrName, "graph?xray="+xray, func(ctx context.Context, d adapter.Describer) (json.RawMessage, error) {
		return d.Graph(ctx, xray)
	})
	if err == nil && body == nil {
		body = rule.OpaqueGraph()
	}
	return body, err
}

// Subgraphs returns the subgraphs of an agent's graph, or {} where the agent has not said any.
func (s *facts) Subgraphs(ctx context.Context, idOrName, namespace string, recurse bool) (json.RawMessage, error) {
	what := "subgraphs/" + url.PathEscape(namespace)
	if recurse {
		what += "?recurse"
	}
	body, err := s.fact(ctx, idOrName, what, func(ctx context.Context, d adapter.Describer) (json.RawMessage, error) {
		return d.Subgraphs(ctx, namespace, recurse)
	})
	if err == nil && body == nil {
		body = json.RawMessage(`{}`)
	}
	return body, err
}

// facts are what agents say of themselves.
type facts struct {
	directory *Directory
	said      *assistant.Agents
	asked     asked
}

// question has an agent say something of itself.
type question func(context.Context, adapter.Describer) (json.RawMessage, error)

// fact is what an agent says of itself; nil where it cannot say.
func (s *facts) fact(ctx context.Context, idOrName, what string, ask question) (json.RawMessage, error) {
	a, _, err := s.directory.Assistant(ctx, idOrName)
	if err != nil {
		return nil, err
	}
	if !s.asked.has(a, what) {
		if body := askAgent(ctx, a, ask); body != nil {
			return body, s.keepFact(ctx, a, what, body)
		}
	}
	body, err := s.said.Fact(ctx, a.Name, what)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return body, err
}

// askAgent returns the agent's own answer; nil where there is none in time.
func askAgent(ctx context.Context, a *engine.Agent, ask question) json.RawMessage {
	ctx, cancel := context.WithTimeout(ctx, factPatience)
	defer cancel()
	d, ok := describerOf(ctx, a)
	if !ok {
		return nil
	}
	if body, err := ask(ctx, d); err == nil && bytes.HasPrefix(body, []byte("{")) {
		return body
	}
	return nil
}

// keepFact keeps an answer. Those that say nothing are not kept: a client may ask for any namespace.
func (s *facts) keepFact(ctx context.Context, agent *engine.Agent, what string, body json.RawMessage) error {
	if string(body) == "{}" {
		return nil
	}
	s.asked.set(agent, what)
	return s.said.KeepFact(ctx, agent.Name, what, body)
}

func describerOf(ctx context.Context, a *engine.Agent) (adapter.Describer, bool) {
	b, _, err := a.Backend(ctx)
	if err != nil {
		return nil, false
	}
	d, ok := b.(adapter.Describer)
	return d, ok
}
