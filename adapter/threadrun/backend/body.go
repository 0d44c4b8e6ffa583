package backend

import (
	"encoding/json"
	"slices"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

// This file writes the bodies of calls. What a client gave a run may be as long as a
// request may be: it is sent from where it stands, neither copied nor checked once more.

// large is a body with values that may be long.
type large interface {
	// parts is the body without those values, and the values by name.
	parts() (rest any, values []mapping.NewMember)
}

// piecesOf is the JSON of a body.
func piecesOf(body any) (*rawjson.Pieces, error) {
	var values []mapping.NewMember
	if b, ok := body.(large); ok {
		body, values = b.parts()
	}
	raw, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	p, err := mapping.PiecesWith(raw, values...)
	return &p, err
}

func (r runCreate) parts() (any, []mapping.NewMember) {
	values := given(mapping.NewMember{Name: "input", Value: r.Input}, mapping.NewMember{Name: "config", Value: r.Config}, mapping.NewMember{Name: "context", Value: r.Context}, mapping.NewMember{Name: "metadata", Value: r.Metadata})
	if c := r.Command; c != nil {
		if command, err := mapping.WithMembers(nil, given(mapping.NewMember{Name: "resume", Value: c.Resume}, mapping.NewMember{Name: "update", Value: c.Update}, mapping.NewMember{Name: "goto", Value: c.Goto})...); err == nil {
			values = append(values, mapping.NewMember{Name: "command", Value: command})
		}
	}
	r.Input, r.Config, r.Context, r.Metadata, r.Command = nil, nil, nil, nil, nil
	return r, values
}

func (r plainCreate) parts() (any, []mapping.NewMember) {
	values := given(mapping.NewMember{Name: "input", Value: r.Input}, mapping.NewMember{Name: "config", Value: r.Config}, mapping.NewMember{Name: "metadata", Value: r.Metadata})
	r.Input, r.Config, r.Metadata = nil, nil, nil
	return r, values
}

func (u stateUpdate) parts() (any, []mapping.NewMember) {
	values := given(mapping.NewMember{Name: "values", Value: u.Values})
	u.Values = nil
	return u, values
}

// given are the values that are there.
func given(all ...mapping.NewMember) []mapping.NewMember {
	return slices.DeleteFunc(all, func(m mapping.NewMember) bool { return len(m.Value) == 0 })
}
