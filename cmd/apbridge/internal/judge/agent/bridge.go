package agent

import (
	"context"
	"net/http"
	"slices"
)

// Agents returns the names of a bridge's agents, each a server of version 1 below /agents/NAME. A server that is no
// bridge, or lists no agents, has none.
func (c *Client) Agents(ctx context.Context) (names []string) {
	var list []struct {
		ID string `json:"agent_id"`
	}
	if !c.IsBridge(ctx) || c.call(ctx, http.MethodPost, c.Root()+"/agents/search", []byte(`{"limit":1000}`), &list) != nil {
		return nil
	}
	for _, a := range list {
		names = append(names, a.ID)
	}
	slices.Sort(names)
	if len(names) > 0 && !c.serves(ctx, names[0]) {
		return nil // servers of the LangChain Agent Protocol list agents, too
	}
	return names
}

func (c *Client) serves(ctx context.Context, name string) bool {
	one := *c
	one.Base = c.Root() + "/agents/" + name
	return one.Probe(ctx) == nil
}
