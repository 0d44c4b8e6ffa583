package backend

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/apbridge/apbridge/adapter/upstream"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

// seed writes the whole local state into a new thread as an update of a node. If the client named a node as the author
// of the state, that node is used, so that the graph continues after it. Without such a node in the graph, the node
// that leads to the end is used. If the server refuses the update, the state becomes part of the run's input.
func (th *thread) seed() error {
	if rawjson.CountMembers(th.t.Graph.Values) == 0 {
		return nil
	}
	if th.t.Graph.AsNode != "" {
		if err := th.writeState(th.t.Graph.AsNode); err == nil || !refusedState(err) {
			return err
		}
	}
	err := th.writeState(th.b.graphs.entry(th.ctx, th.target))
	if err == nil || !refusedState(err) {
		return err
	}
	return th.seedByInput(err)
}

func (th *thread) writeState(node string) error {
	path := threadPath(th.link.Remote) + "/state"
	return th.b.http.writeJSON(th.ctx, http.MethodPost, path, stateUpdate{Values: th.t.Graph.Values, AsNode: node}, nil)
}

// refusedState reports whether the server has certainly not stored the state. Otherwise a second write would duplicate
// it.
func refusedState(err error) bool {
	return upstream.Status(err) != 0 && !upstream.MayHaveActed(err)
}

// seedByInput adds the state to the run's input. refused is the error from writing it.
func (th *thread) seedByInput(refused error) error {
	input, ok := seededInput(th.t.Graph.Values, th.t.Input.Raw)
	if !ok {
		return &mapping.Error{Class: mapping.Upstream, Code: mapping.CodeIncompatibleState, Err: refused,
			Message: fmt.Sprintf("The state of this thread cannot be sent to agent %q: it refuses a state update, and the state does not fit into the run's input.", th.b.up.Name)}
	}
	th.t.Input.Raw = input
	return nil
}

// seededInput returns the input combined with the state. Messages and files are joined. For other keys the input takes
// precedence.
func seededInput(values, input json.RawMessage) (json.RawMessage, bool) {
	all, add := object(values), object(input)
	if all == nil || (add == nil && len(input) > 0 && !bytes.Equal(bytes.TrimSpace(input), []byte("null"))) {
		return nil, false
	}
	for key, value := range add {
		switch joined, ok := join(all[key], value); {
		case ok:
			all[key] = joined
		default:
			all[key] = value
		}
	}
	raw, err := json.Marshal(all)
	return raw, err == nil
}

// join concatenates two lists or merges two objects.
func join(a, b json.RawMessage) (json.RawMessage, bool) {
	var x, y []json.RawMessage
	if json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && x != nil && y != nil {
		raw, err := json.Marshal(append(x, y...))
		return raw, err == nil
	}
	m, n := object(a), object(b)
	if m == nil || n == nil {
		return nil, false
	}
	for k, v := range n {
		m[k] = v
	}
	raw, err := json.Marshal(m)
	return raw, err == nil
}
