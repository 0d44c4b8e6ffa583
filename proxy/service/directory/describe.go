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
	"github.com/apbridge/apbridge/proxy/store"
)

// What a stateful agent says of itself is asked for once by each process and kept in the database, from where it is
// told while the agent is away. An opaque agent, and one that cannot tell, is described as what the bridge is in front
// of an opaque agent: a graph of one node. Of an agent that has said neither yet nothing is told.

// factPatience is how long an agent is waited for where there is something to tell in the place of its answer: chat
// pages show nothing before. Any other is waited for as long as its client and its backend wait.
const factPatience = 5 * time.Second

// asked remembers what became of the questions that this process has put to agents. One that is dialled again, maybe
// elsewhere, is asked again. Safe for concurrent use.
type asked struct {
	mu     sync.Mutex
	byName map[string]questions
}

// questions are those that an agent has answered.
type questions struct {
	of      *engine.Agent
	answers map[string]answer
}

// answer is what became of a question.
type answer int

const (
	noAnswer answer = iota
	told
	cannotTell
)

func (a *asked) get(agent *engine.Agent, what string) answer {
	a.mu.Lock()
	defer a.mu.Unlock()
	if q := a.byName[agent.Name]; q.of == agent {
		return q.answers[what]
	}
	return noAnswer
}

func (a *asked) set(agent *engine.Agent, what string, became answer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.byName == nil {
		a.byName = map[string]questions{}
	}
	if a.byName[agent.Name].of != agent {
		a.byName[agent.Name] = questions{agent, map[string]answer{}}
	}
	a.byName[agent.Name].answers[what] = became
}

// Schemas returns the schemas of an agent's graph, or those of a graph of one node where the agent cannot tell any.
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

// Graph returns an agent's graph, or a graph of one node where the agent cannot tell any.
func (s *facts) Graph(ctx context.Context, idOrName, xray string) (json.RawMessage, error) {
	body, err := s.fact(ctx, idOrName, "graph?xray="+xray, func(ctx context.Context, d adapter.Describer) (json.RawMessage, error) {
		return d.Graph(ctx, xray)
	})
	if err == nil && body == nil {
		body = rule.OpaqueGraph()
	}
	return body, err
}

// Subgraphs returns the subgraphs of an agent's graph, or {} where the agent cannot tell any.
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
	said      *store.Agents
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
	kept, err := s.said.Fact(ctx, a.Name, what)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return nil, err
	}
	before := s.asked.get(a, what)
	if before == told && kept != nil {
		return kept, nil
	}
	hurry := kept != nil || before == cannotTell
	body, err := askAgent(ctx, a, ask, hurry)
	switch {
	case err == nil:
		return body, s.keepFact(ctx, a, what, body)
	case mapping.Classify(err).Code == mapping.CodeNotSupported:
		s.asked.set(a, what, cannotTell)
	case !hurry:
		return nil, err
	}
	return kept, nil
}

// askAgent returns the agent's own answer, or why there is none. not_supported says that the agent cannot tell.
func askAgent(ctx context.Context, a *engine.Agent, ask question, hurry bool) (json.RawMessage, error) {
	if hurry {
		short, cancel := context.WithTimeout(ctx, factPatience)
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
		err = mapping.Errorf(mapping.Upstream, mapping.CodeBadUpstream, "Agent %q describes itself by something else than an object.", a.Name)
	}
	return body, err
}

// keepFact keeps an answer. Those that say nothing are not kept: a client may ask for any namespace.
func (s *facts) keepFact(ctx context.Context, agent *engine.Agent, what string, body json.RawMessage) error {
	if string(body) == "{}" {
		return nil
	}
	s.asked.set(agent, what, told)
	return s.said.KeepFact(ctx, agent.Name, what, body)
}
