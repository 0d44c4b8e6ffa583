package service_test

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/proxy/service/servicetest"
	"github.com/apbridge/apbridge/proxy/store/storetest/blank"
)

// describing is a graph with scripted schemas.
type describing struct {
	*servicetest.Agent
	schemas func(context.Context) (mapping.Schemas, error)
}

func (d *describing) Schemas(ctx context.Context) (mapping.Schemas, error) { return d.schemas(ctx) }

func (d *describing) Graph(context.Context, string) (json.RawMessage, error) {
	return json.RawMessage(`{}`), nil
}

func (d *describing) Subgraphs(context.Context, string, bool) (json.RawMessage, error) {
	return json.RawMessage(`{}`), nil
}

// after returns schemas after a delay. It gives up when its caller does.
func after(d time.Duration, title string) func(context.Context) (mapping.Schemas, error) {
	return func(ctx context.Context) (mapping.Schemas, error) {
		select {
		case <-time.After(d):
			return mapping.Schemas{Input: json.RawMessage(`{"title":"` + title + `"}`)}, nil
		case <-ctx.Done():
			return mapping.Schemas{}, mapping.Errorf(mapping.Upstream, mapping.CodeUpstreamUnreachable, "not yet")
		}
	}
}

func fails(code string) func(context.Context) (mapping.Schemas, error) {
	return func(context.Context) (mapping.Schemas, error) {
		return mapping.Schemas{}, mapping.Errorf(mapping.Upstream, code, "no schemas")
	}
}

// The schemas of the graph that represents a task/step agent are used only if an agent cannot provide its own.
func TestSchemasComeFromTheAgent(t *testing.T) {
	t.Parallel()
	type saying = func(context.Context) (mapping.Schemas, error)
	const invented = "invented"
	for name, c := range map[string]struct {
		says []saying // one per request for the schemas
		want []string // titles, invented, or the code of an error
		took time.Duration
	}{
		"a slow agent":                                       {[]saying{after(time.Minute, "own")}, []string{"own"}, time.Minute},
		"an agent that cannot describe itself":               {[]saying{fails(mapping.CodeNotSupported)}, []string{invented}, 0},
		"an unreachable agent":                               {[]saying{fails(mapping.CodeUpstreamUnreachable)}, []string{mapping.CodeUpstreamUnreachable}, 0},
		"an agent that refuses":                              {[]saying{fails(mapping.CodeUpstreamError)}, []string{mapping.CodeUpstreamError}, 0},
		"a known agent that is unreachable":                  {[]saying{after(0, "own"), fails(mapping.CodeUpstreamUnreachable)}, []string{"own", "own"}, 0},
		"a known agent that is slow":                         {[]saying{after(0, "old"), after(time.Minute, "new")}, []string{"old", "old"}, 5 * time.Second},
		"a slow agent that could not describe itself before": {[]saying{fails(mapping.CodeNotSupported), after(time.Minute, "own")}, []string{invented, invented}, 5 * time.Second},
	} {
		path := blank.File(t) // a bubble's clock stops while a server is connected
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := servicetest.At(t, path)
				taker := &describing{Agent: b.Graph}
				b.Taker = taker
				from := time.Now()
				for i, want := range c.want {
					taker.schemas = c.says[i]
					if i == 0 || c.want[i-1] != invented {
						b.Close()
						b.Open(t) // a process queries only once
					}
					got, err := b.AgentSchemas(t.Context(), "graph")
					said := struct{ Title string }{}
					switch {
					case err != nil:
						said.Title = mapping.Classify(err).Code
					case string(got.Input) == string(rule.StepSchemas().Input):
						said.Title = invented
					default:
						_ = json.Unmarshal(got.Input, &said)
					}
					if said.Title != want {
						t.Errorf("request %d: %s, %v; want %s", i+1, said.Title, err, want)
					}
				}
				if took := time.Since(from); took < c.took || took > c.took+time.Second {
					t.Errorf("it took %s, want %s", took, c.took)
				}
			})
		})
	}
}
