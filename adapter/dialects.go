package adapter

import (
	"fmt"
	"slices"
	"strings"

	"github.com/apbridge/apbridge/mapping"
)

// Dialects is a table of dialects. A path belongs to the first dialect that owns it. The dialect of an agent is
// detected from the last to the first. It is read-only, so it is safe for concurrent use.
type Dialects []Dialect

// Names returns the names that a configuration may use for an agent's dialect.
func (l Dialects) Names() []string {
	names := make([]string, len(l))
	for i, d := range l {
		names[i] = d.Name
	}
	return names
}

// Aliases returns the alternative names that a configuration may use, with the name each stands for.
func (l Dialects) Aliases() map[string]string {
	names := map[string]string{}
	for _, d := range l {
		for _, alias := range d.Aliases {
			names[alias] = d.Name
		}
	}
	return names
}

// Documents returns the documents of every dialect, in a fixed order.
func (l Dialects) Documents() []Document {
	var list []Document
	for _, d := range slices.Backward(l) {
		list = append(list, d.Documents...)
	}
	return list
}

// Programs returns, for each served dialect, programs that request a run as its clients would.
func (l Dialects) Programs(a SnippetParams) []Programs {
	list := []Programs{}
	for _, d := range l {
		if d.Snippets != nil && d.Mount != nil {
			list = append(list, Programs{d.Name, d.Snippets(a)})
		}
	}
	return list
}

// Ends returns the Ends of every dialect, the longest first.
func (l Dialects) Ends() []string {
	var list []string
	for _, d := range l {
		list = append(list, d.Ends...)
	}
	slices.SortStableFunc(list, func(a, b string) int { return len(b) - len(a) })
	return list
}

// Callable returns the dialects in which agents can be called, in the order of detection.
func (l Dialects) Callable() []Dialect {
	list := slices.DeleteFunc(slices.Clone(l), func(d Dialect) bool { return d.Dial == nil })
	slices.Reverse(list)
	return list
}

// Dial returns the backend of a configured agent. It does no I/O. The error names the key of the configuration.
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

// WriteHook returns the request for a hook, in the dialect of the hook's flavour.
func (l Dialects) WriteHook(n HookNotice) (HookPost, error) {
	if d, _ := l.FindFlavour(n.Hook.Flavour); d != nil && d.Hook != nil {
		n.Hook.ID = strings.TrimPrefix(n.Hook.ID, l.HookPrefix(n.Hook.Flavour))
		return d.Hook(n)
	}
	return HookPost{}, fmt.Errorf("no dialect writes hooks of flavour %q", n.Hook.Flavour)
}

// HookPrefix returns the beginning of the ids under which hooks of the flavour's dialect are stored. It keeps dialects from
// reading and replacing each other's hooks.
func (l Dialects) HookPrefix(name mapping.Flavour) string {
	if d, _ := l.FindFlavour(name); d != nil {
		return d.Name + " "
	}
	return string(name) + " "
}

// ArtifactPath returns the path under which clients find the bytes of a task's artifact, on the face of the first
// dialect that serves artifacts, or "".
func (l Dialects) ArtifactPath(agent, taskID, artifactID string) string {
	for _, d := range l {
		if d.ArtifactPath != nil && d.Mount != nil {
			return d.ArtifactPath(agent, taskID, artifactID)
		}
	}
	return ""
}

// Strategy returns the strategy for runs of the flavour on a busy thread if neither request nor agent specify one.
func (l Dialects) Strategy(name mapping.Flavour) mapping.Strategy {
	if _, f := l.FindFlavour(name); f != nil {
		return f.Strategy
	}
	return mapping.StrategyReject
}

// FindFlavour returns a flavour and its dialect, or nil.
func (l Dialects) FindFlavour(name mapping.Flavour) (*Dialect, *Flavour) {
	for i := range l {
		for j := range l[i].Flavours {
			if f := &l[i].Flavours[j]; f.Name == name {
				return &l[i], f
			}
		}
	}
	return nil, nil
}
