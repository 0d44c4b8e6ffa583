package protocol

import (
	"encoding/json"
	"strings"

	"github.com/apbridge/apbridge/adapter/body"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

// params are the members of a client's object, in either spelling.
type params struct {
	object json.RawMessage
	seen   Spelling // the spellings of the names that were found
}

// parse checks that raw is one JSON object without repeated names that is not nested deeper than depth (0 means no
// limit).
func parse(raw json.RawMessage, depth int) (*params, error) {
	err := body.Object(raw, depth, func(string, json.RawMessage) error { return nil })
	if err != nil {
		return nil, err
	}
	return &params{object: raw}, nil
}

// get returns a member, or nil if it is absent or null.
func (p *params) get(name string) json.RawMessage {
	if v := p.sent(name); rawjson.Kind(v) != 'n' {
		return v
	}
	return nil
}

// sent returns a member, including null, or nil if it is absent.
func (p *params) sent(name string) json.RawMessage {
	other, differs := camelNames[name]
	if v := rawjson.Get(p.object, name); v != nil {
		if differs {
			p.seen |= Snake
		}
		return v
	}
	if !differs {
		return nil
	}
	v := rawjson.Get(p.object, other)
	if v != nil {
		p.seen |= Camel
	}
	return v
}

// within reads a nested object and records its spelling in p.
func (p *params) within(object json.RawMessage, read func(*params)) {
	inner := &params{object: object, seen: p.seen}
	read(inner)
	p.seen = inner.seen
}

// text reads a non-empty string. If must is true, the member is required.
func (p *params) text(name string, must bool) (string, error) {
	v := p.get(name)
	if v == nil && !must {
		return "", nil
	}
	s := rawjson.TextOf(v)
	if s == "" || !mapping.IsText(s) {
		return "", invalid("%s must be a non-empty string.", name)
	}
	return s, nil
}

// namespaces reads a list of namespaces. It returns nil if it is absent.
func (p *params) namespaces(name string) (list [][]string, err error) {
	v := p.get(name)
	if v == nil {
		return nil, nil
	}
	if rawjson.Kind(v) != '[' {
		return nil, invalid("%s must be a list of lists of strings.", name)
	}
	for _, e := range rawjson.ElementsOf(v) {
		ns, ok := textsOf(e)
		if !ok {
			return nil, invalid("%s must be a list of lists of strings.", name)
		}
		list = append(list, ns)
	}
	return list, nil
}

// namespace returns the member namespace in the form of LangGraph's checkpoint_ns. The root is "".
func (p *params) namespace() (string, error) {
	v := p.get("namespace")
	ns, ok := textsOf(v)
	if joined := strings.Join(ns, "|"); v == nil || ok && mapping.IsText(joined) {
		return joined, nil
	}
	return "", invalid("namespace must be a list of strings.")
}

// root refuses any namespace except the root.
func (p *params) root() error {
	ns, err := p.namespace()
	if err == nil && ns != "" {
		err = mapping.Errorf(mapping.NotFound, codeNamespace, "This command is only possible for the root graph, whose namespace is [].")
	}
	return err
}
