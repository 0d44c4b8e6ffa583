package directory

import (
	"context"
	"encoding/json"
	"sort"
	"strings"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/engine"
)

// Agent finds a configured agent by name or assistant id; "" is the default one. An agent the principal may not use
// does not exist for it.
func (dir *Directory) Agent(ctx context.Context, idOrName string) (*engine.Agent, error) {
	return dir.agent(ctx, idOrName, "There is no agent %q.")
}

// noAssistant begins the refusal of an assistant as LangGraph's server does, by which clients know it.
const noAssistant = "No assistant found for %q."

// agent is Agent with the sentence that refuses a name.
func (dir *Directory) agent(ctx context.Context, idOrName, refusal string) (*engine.Agent, error) {
	name := idOrName
	if name == "" {
		name = dir.engine.Config().DefaultAgent
	}
	if name == "" {
		return nil, mapping.Errorf(mapping.Invalid, mapping.CodeAgentNotFound,
			"No agent was named and there is no default one. Name one of: %s (or set default_agent in the bridge's configuration).", dir.names(ctx))
	}
	if known, ok := dir.byID()[strings.ToLower(name)]; ok {
		name = known
	}
	a, ok := dir.engine.Agent(name)
	if !ok || !mapping.PrincipalOf(ctx).May(name) {
		return nil, mapping.Errorf(mapping.NotFound, mapping.CodeAgentNotFound,
			refusal+" Known agents: %s.", idOrName, dir.names(ctx))
	}
	return a, nil
}

func (dir *Directory) names(ctx context.Context) string {
	var list []string
	for name := range dir.engine.Config().Agents {
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

// Assistant finds what a request for a run names: a configured agent, as Agent does, or an assistant that was made over
// one.
func (dir *Directory) Assistant(ctx context.Context, idOrName string) (*engine.Agent, *mapping.Assistant, error) {
	made, err := dir.made(ctx, idOrName)
	if err != nil {
		return nil, nil, err
	}
	if made != nil {
		a, err := dir.Agent(ctx, made.Graph)
		return a, made, err
	}
	a, err := dir.agent(ctx, idOrName, noAssistant)
	if err != nil {
		return nil, nil, err
	}
	return a, dir.Itself(a), nil
}

// Itself returns the assistant that a configured agent is, without its times.
func (dir *Directory) Itself(a *engine.Agent) *mapping.Assistant {
	return dir.traits(&mapping.Assistant{
		ID: mapping.AssistantID(a.Name), Graph: a.Name, Name: a.Name, Version: 1, Configured: true,
		Metadata: json.RawMessage(`{"created_by":"system"}`), Config: json.RawMessage(`{}`), Context: json.RawMessage(`{}`),
	})
}

// made finds an assistant that was made; nil for everything else. One whose agent the principal may not use does not
// exist for it.
func (dir *Directory) made(ctx context.Context, id string) (*mapping.Assistant, error) {
	id = strings.ToLower(id)
	if _, configured := dir.byID()[id]; configured || !mapping.IsUUID(id) {
		return nil, nil
	}
	return dir.stored(ctx, id)
}

func (dir *Directory) stored(ctx context.Context, id string) (*mapping.Assistant, error) {
	a, err := dir.table.Get(ctx, id)
	switch {
	case mapping.Classify(err).Class == mapping.NotFound:
		return nil, nil
	case err != nil:
		return nil, err
	case !mapping.PrincipalOf(ctx).May(a.Graph):
		return nil, nil
	}
	return dir.traits(&a), nil
}

// Named returns what a filter by agent means, as the two columns have it: a configured agent under its own id, or an
// assistant over whichever agent.
func (dir *Directory) Named(idOrName string) (agent, assistant string) {
	id := strings.ToLower(idOrName)
	if name, ok := dir.byID()[id]; ok {
		return name, id
	}
	if idOrName == "" || mapping.IsUUID(id) {
		return "", id
	}
	return idOrName, mapping.AssistantID(idOrName)
}

// traits fills in what is known of the agent that an assistant is made over, and returns the assistant.
func (dir *Directory) traits(a *mapping.Assistant) *mapping.Assistant {
	if agent, ok := dir.engine.Agent(a.Graph); ok {
		traits, known := agent.Known()
		a.Opaque = known && traits.Opaque
	}
	return a
}

// resolve finds the assistant of that id, or the one that a configured agent is: see Agents.Resolve.
func (dir *Directory) resolve(ctx context.Context, idOrName string) (mapping.Assistant, error) {
	made, err := dir.made(ctx, idOrName)
	if err != nil {
		return mapping.Assistant{}, err
	}
	if made != nil {
		return *made, nil
	}
	a, err := dir.agent(ctx, idOrName, noAssistant)
	if err != nil {
		return mapping.Assistant{}, err
	}
	return dir.describe(ctx, a)
}

func (dir *Directory) describe(ctx context.Context, a *engine.Agent) (mapping.Assistant, error) {
	seen, err := dir.said.Seen(ctx, a.Name)
	d := *dir.Itself(a)
	d.CreatedAt, d.UpdatedAt = seen, seen
	return d, err
}
