package adapter

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/apbridge/apbridge/mapping"
)

// Dialects is a table of dialects. A path belongs to the first one that owns it; an agent
// is asked what it speaks from the last one to the first. Read only, and so safe for
// concurrent use.
type Dialects []Dialect

// Names are what a configuration may name as an agent's dialect.
func (l Dialects) Names() []string {
	names := make([]string, len(l))
	for i, d := range l {
		names[i] = d.Name
	}
	return names
}

// Owner is the dialect that a path of the bridge belongs to, in whatever form the path
// came. ok is false for a path of none.
func (l Dialects) Owner(path string) (d Dialect, ok bool) {
	i := slices.IndexFunc(l, func(d Dialect) bool { return d.Owns(path) })
	if i < 0 {
		return d, false
	}
	return l[i], true
}

// Documents are those of every dialect, in a fixed order.
func (l Dialects) Documents() []Document {
	var list []Document
	for _, d := range slices.Backward(l) {
		list = append(list, d.Documents...)
	}
	return list
}

// Callable are the dialects that agents can be called in, in the order an agent is asked
// for them.
func (l Dialects) Callable() []Dialect {
	list := slices.DeleteFunc(slices.Clone(l), func(d Dialect) bool { return d.Dial == nil })
	slices.Reverse(list)
	return list
}

// Dial makes the backend of a configured agent. It does no I/O; the error names the key
// of the configuration.
func (l Dialects) Dial(up Upstream) (Backend, error) {
	if up.Config.Dialect == "auto" {
		return NewAuto(up, l.Callable()), nil
	}
	for _, d := range l {
		if d.Name == up.Config.Dialect && d.Dial != nil {
			return d.Dial(up)
		}
	}
	return nil, fmt.Errorf("agents.%s.dialect: %q cannot be called", up.Name, up.Config.Dialect)
}

// Webhook writes the body of a run's completion hook in the dialect the run was made in.
func (l Dialects) Webhook(run mapping.Run, out mapping.Outcome, values []byte) ([]byte, error) {
	for _, d := range l {
		if _, ok := d.flavour(run.Flavour); ok && d.Webhook != nil {
			return d.Webhook(run, out, json.RawMessage(values))
		}
	}
	return nil, fmt.Errorf("no dialect writes webhooks for runs of flavour %q", run.Flavour)
}

// Strategy is what becomes of a run of the flavour on a busy thread where neither its
// request nor its agent says.
func (l Dialects) Strategy(name mapping.Flavour) mapping.Strategy {
	for _, d := range l {
		if f, ok := d.flavour(name); ok {
			return f.Strategy
		}
	}
	return mapping.StrategyReject
}

// LossTable is every documented field of every face's requests before the agents of every
// dialect, in a fixed order.
func (l Dialects) LossTable() []mapping.LossRow {
	var rows []mapping.LossRow
	for _, from := range slices.Backward(l) {
		for _, f := range from.Fields {
			for _, to := range l {
				if to.Dial != nil {
					h := f.Before(to.Capabilities)
					rows = append(rows, mapping.LossRow{Request: f.Request, Field: f.Name, From: from.Name, To: to.Name, Fate: h.Fate, Reason: h.Reason})
				}
			}
		}
	}
	return rows
}

// Losses are the fields, among those sent to make a run of the flavour, that an agent gets
// only approximately or not at all. An agent whose capabilities are not known yet counts as
// one of the dialect that it would be asked for first.
func (l Dialects) Losses(name mapping.Flavour, sent []string, agent mapping.Capabilities) []mapping.Loss {
	if callable := l.Callable(); agent == nil && len(callable) > 0 {
		agent = callable[0].Capabilities
	}
	for _, d := range l {
		if f, ok := d.flavour(name); ok {
			return mapping.Losses(d.Fields, f.Request, sent, agent)
		}
	}
	return nil
}

func (d Dialect) flavour(name mapping.Flavour) (Flavour, bool) {
	i := slices.IndexFunc(d.Flavours, func(f Flavour) bool { return f.Name == name })
	if i < 0 {
		return Flavour{}, false
	}
	return d.Flavours[i], true
}

// Owns reports whether a path, in any form, is one of the face's.
func (d Dialect) Owns(path string) bool {
	return slices.ContainsFunc(d.Paths, func(pattern string) bool { return within(pattern, path) })
}

// within reports whether a path is what the pattern names, or lies below it.
func within(pattern, path string) bool {
	for pattern != "" {
		if !strings.HasPrefix(path, "/") {
			return false
		}
		var want, have string
		want, pattern = firstPart(pattern)
		have, path = firstPart(path)
		if want != have && !strings.HasPrefix(want, "{") {
			return false
		}
	}
	return true
}

// firstPart splits /a/b into a and /b.
func firstPart(path string) (part, rest string) {
	path = path[1:]
	if i := strings.IndexByte(path, '/'); i >= 0 {
		return path[:i], path[i:]
	}
	return path, ""
}
