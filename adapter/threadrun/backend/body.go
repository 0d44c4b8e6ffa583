package backend

import (
	"encoding/json"
	"slices"

	"github.com/apbridge/apbridge/mapping/rawjson"
)

// This file writes request bodies. A client's values may be as long as the largest request. They are sent without being
// copied or validated again.

// large is a body whose values may be long.
type large interface {
	// parts returns the body without those values, and the values by name.
	parts() (rest any, values []rawjson.Member)
}

// piecesOf returns the JSON of a body.
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

// given returns the members that have a value.
func given(all ...rawjson.Member) []rawjson.Member {
	return slices.DeleteFunc(all, func(m rawjson.Member) bool { return len(m.Value) == 0 })
}
