package protocol

import (
	"encoding/json"
	"strings"

	"github.com/apbridge/apbridge/adapter/body"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

// params are the members of an object that a client sent, in either spelling.
type params struct {
	object json.RawMessage
	seen   Spelling // of the names of two words that were found
}

// parse checks that raw is one JSON object, without names that occur twice, not nested deeper than depth (0: no limit).
func parse(raw json.RawMessage, depth int) (*params, error) {
	err := body.Object(raw, depth, func(string, json.RawMessage) error { return nil })
	if err != nil {
		return nil, err
	}
	return &params{object: raw}, nil
}

// get is a member; nil when it is absent or null.
func (p *params) get(name string) json.RawMessage {
	if v := p.sent(name); rawjson.Kind(v) != 'n' {
		return v
	}
	return nil
}

// sent is a member, null included; nil when it is absent.
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

// within is an object among the members of this one, read with the same notes of spelling.
func (p *params) within(object json.RawMessage, read func(*params)) {
	inner := &params{object: object, seen: p.seen}
	read(inner)
	p.seen = inner.seen
}

// text is a member that must be a text that is not empty; with must it may not be absent.
func (p *params) text(name string, must bool) (string, error) {
	v := p.get(name)
	if v == nil && !must {
		return "", nil
	}
	s := rawjson.TextOf(v)
	if s == "" || !mapping.IsText(s) {
		return "", invalid("%s must be a string that is not empty.", name)
	}
	return s, nil
}

// namespaces is a member that is a list of namespaces, nil when it is absent.
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

// namespace is the member of that name as LangGraph's checkpoint_ns; "" is the root.
func (p *params) namespace() (string, error) {
	v := p.get("namespace")
	ns, ok := textsOf(v)
	if joined := strings.Join(ns, "|"); v == nil || ok && mapping.IsText(joined) {
		return joined, nil
	}
	return "", invalid("namespace must be a list of strings.")
}

// root refuses a namespace other than the root's.
func (p *params) root() error {
	ns, err := p.namespace()
	if err == nil && ns != "" {
		err = mapping.Errorf(mapping.NotFound, codeNamespace, "Only the agent's own graph can be spoken to, whose namespace is [].")
	}
	return err
}
