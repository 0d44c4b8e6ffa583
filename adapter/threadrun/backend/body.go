package backend

import (
	"encoding/json"
	"slices"

	"github.com/apbridge/apbridge/mapping/rawjson"
)

// This file writes the bodies of calls. What a client gave a run may be as long as a request may be: it is sent from
// where it stands, neither copied nor checked once more.

// large is a body with values that may be long.
type large interface {
	// parts is the body without those values, and the values by name.
	parts() (rest any, values []rawjson.Member)
}

// piecesOf is the JSON of a body.
func piecesOf(body any) (*rawjson.Pieces, error) {
	var values []rawjson.Member
	if b, ok := body.(large); ok {
		body, values = b.parts()
	}
	raw, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	p, err := rawjson.PiecesWith(raw, values...)
	return &p, err
}

func (r runCreate) parts() (any, []rawjson.Member) {
	values := given(rawjson.Member{Name: "input", Value: r.Input}, rawjson.Member{Name: "config", Value: r.Config}, rawjson.Member{Name: "context", Value: r.Context}, rawjson.Member{Name: "metadata", Value: r.Metadata})
	if c := r.Command; c != nil {
		if command, err := rawjson.WithMembers(nil, given(rawjson.Member{Name: "resume", Value: c.Resume}, rawjson.Member{Name: "update", Value: c.Update}, rawjson.Member{Name: "goto", Value: c.Goto})...); err == nil {
			values = append(values, rawjson.Member{Name: "command", Value: command})
		}
	}
	r.Input, r.Config, r.Context, r.Metadata, r.Command = nil, nil, nil, nil, nil
	return r, values
}

func (r plainCreate) parts() (any, []rawjson.Member) {
	values := given(rawjson.Member{Name: "input", Value: r.Input}, rawjson.Member{Name: "config", Value: r.Config}, rawjson.Member{Name: "metadata", Value: r.Metadata})
	r.Input, r.Config, r.Metadata = nil, nil, nil
	return r, values
}

func (u stateUpdate) parts() (any, []rawjson.Member) {
	values := given(rawjson.Member{Name: "values", Value: u.Values})
	u.Values = nil
	return u, values
}

// given are the values that are there.
func given(all ...rawjson.Member) []rawjson.Member {
	return slices.DeleteFunc(all, func(m rawjson.Member) bool { return len(m.Value) == 0 })
}
