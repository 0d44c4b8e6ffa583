package backend

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/rule"
	"go.uber.org/zap"
)

// mostStates is the longest history that servers return in one response.
const mostStates = 1000

// MakeStates implements adapter.StateMaker. It fails with not_supported for servers that ignore supersteps.
func (b *backend) MakeStates(ctx context.Context, c adapter.Copy, list []adapter.Superstep) (mapping.Link, []adapter.State, error) {
	t, err := b.graphs.target(ctx)
	if err != nil {
		return mapping.Link{}, nil, err
	}
	if t.plain || t.graph == "" {
		return mapping.Link{}, nil, b.noSupersteps()
	}
	body := threadCreate{
		ID: mapping.NewID(), IfExists: "raise", Supersteps: superstepsWire(list),
		Metadata: textOf(map[string]json.RawMessage{threadKey: quoted(c.ThreadID), "graph_id": quoted(t.graph)}),
	}
	c.Link = mapping.Link{Agent: c.Agent, Remote: body.ID}
	states, err := b.makeStates(ctx, c, body)
	if err != nil {
		if left := b.Forget(context.WithoutCancel(ctx), c.Link); left != nil { // some servers create the thread before they read its states
			b.http.log.Info("agent's copy of no thread could not be deleted", zap.Error(left), zap.String("agent", b.up.Name))
		}
		return mapping.Link{}, nil, err
	}
	c.Link.RemoteCheckpoint = states[len(states)-1].Checkpoint
	return c.Link, states, nil
}

func (b *backend) makeStates(ctx context.Context, c adapter.Copy, body threadCreate) ([]adapter.State, error) {
	if err := b.http.writeJSON(ctx, http.MethodPost, "/threads", body, nil); err != nil {
		return nil, b.updateError(err)
	}
	var read []stateWire
	if err := b.http.askJSON(ctx, threadPath(body.ID)+"/history", statesAsk{Limit: mostStates}, &read); err != nil {
		return nil, b.copyError(err)
	}
	if len(read) == 0 || len(read) == mostStates {
		return nil, b.noSupersteps()
	}
	o, states := b.copyOf(ctx, c), make([]adapter.State, len(read))
	for i, st := range read {
		if object(st.Values) == nil {
			return nil, b.http.bad(http.MethodPost, threadPath(body.ID)+"/history", "field values is not an object")
		}
		states[len(read)-1-i] = o.read(st)
	}
	return states, nil
}

func (b *backend) noSupersteps() error {
	return mapping.Errorf(mapping.Upstream, mapping.CodeNotSupported, "Agent %q cannot create a thread from supersteps.", b.up.Name)
}

func superstepsWire(list []adapter.Superstep) []superstepWire {
	steps := make([]superstepWire, len(list))
	for i, one := range list {
		for _, u := range one.Updates {
			up := superstepUpdate{Command: u.Command, AsNode: u.AsNode}
			switch {
			case up.Command != nil: // the command contains the values
			case len(u.Then) > 0:
				up.Values = rawjson.Array(u.All()...)
			default:
				up.Values = u.Values
			}
			steps[i].Updates = append(steps[i].Updates, up)
		}
	}
	return steps
}

// read returns a state of the copy in neutral form.
func (o copyOf) read(st stateWire) adapter.State {
	var meta checkpointMeta
	_ = json.Unmarshal(st.Metadata, &meta)
	return adapter.State{
		Values: st.Values, Checkpoint: st.head(), Next: nonNil(st.Next), Tasks: o.tasks(st.Tasks), Source: meta.Source, Step: meta.Step,
		Metadata: rule.AgentMetadata(o.metadata(st.Metadata), "run_id"),
	}
}
