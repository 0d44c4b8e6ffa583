package protocol

import (
	"slices"
	"strings"

	"github.com/apbridge/apbridge/mapping"
)

// The channels of events (CDDL, section 5).
const (
	channelValues      = "values"
	channelUpdates     = "updates"
	channelMessages    = "messages"
	channelTools       = "tools"
	channelLifecycle   = "lifecycle"
	channelInput       = "input"
	channelCheckpoints = "checkpoints"
	channelTasks       = "tasks"
	channelCustom      = "custom"
)

var channels = []string{
	channelValues, channelUpdates, channelMessages, channelTools, channelLifecycle, channelInput,
	channelCheckpoints, channelTasks, channelCustom,
}

// namedCustom is the prefix of a channel for custom events with one name.
const namedCustom = channelCustom + ":"

// knownChannel reports whether a client may request the channel.
func knownChannel(name string) bool {
	return slices.Contains(channels, name) || len(name) > len(namedCustom) && strings.HasPrefix(name, namedCustom)
}

// filter selects a thread's events.
type filter struct {
	channels   []string
	namespaces [][]string // prefixes; all if empty
	depth      int        // levels below a prefix; -1 for any
	since      int64      // only events with greater numbers
}

// mostFiltered limits the channels and the namespaces of a filter, because each event is compared with all of them.
const mostFiltered = 1000

func (f *filter) tooLong() bool {
	return len(f.channels) > mostFiltered || len(f.namespaces) > mostFiltered
}

// readFilter reads channels, namespaces, depth, since and since_event_id (CDDL, EventStreamRequest and
// SubscribeParams). The later of since and since_event_id counts.
func readFilter(p *params) (filter, error) {
	f := filter{depth: -1}
	list, ok := textsOf(p.get("channels"))
	if !ok || len(list) == 0 {
		return f, invalid("channels must be a non-empty list of channels. The channels are %s.", strings.Join(channels, ", "))
	}
	for _, name := range list {
		if !knownChannel(name) {
			return f, invalid("channels contains the unknown channel %q. The channels are %s, and custom:NAME.", name, strings.Join(channels, ", "))
		}
	}
	f.channels = slices.Compact(slices.Sorted(slices.Values(list)))
	var err error
	if f.namespaces, err = p.namespaces("namespaces"); err != nil {
		return f, err
	}
	if f.tooLong() {
		return f, invalid("A filter may have at most %d channels and %[1]d namespaces.", mostFiltered)
	}
	if v := p.get("depth"); v != nil {
		n, ok := whole(v)
		if !ok {
			return f, invalid("depth must be a whole number, 0 or greater.")
		}
		f.depth = int(min(n, 1<<20))
	}
	if v := p.get("since"); v != nil {
		if f.since, ok = whole(v); !ok {
			return f, invalid("since must be the seq of an event.")
		}
	}
	last, err := p.eventNumber("since_event_id")
	f.since = max(f.since, last)
	return f, err
}

// wants reports whether an event follows since and is in one of the channels and one of the namespaces.
func (f *filter) wants(ev *event, at position) bool {
	return at.isPast(f.since) && f.onChannel(ev) && f.within(ev)
}

func (f *filter) onChannel(ev *event) bool {
	return slices.Contains(f.channels, ev.channel()) ||
		ev.name != "" && slices.Contains(f.channels, namedCustom+ev.name)
}

// within reports whether an event is in one of the namespaces. The lifecycle of a plain node only matches a filter that
// names a namespace below the root. LangGraph's servers only send lifecycle events of graphs, and SDKs treat each one
// as a graph.
func (f *filter) within(ev *event) bool {
	if len(f.namespaces) == 0 {
		return !ev.plain
	}
	return slices.ContainsFunc(f.namespaces, func(prefix []string) bool {
		return isPrefix(prefix, ev.namespace) && (f.depth < 0 || len(ev.namespace)-len(prefix) <= f.depth) && (len(prefix) > 0 || !ev.plain)
	})
}

// isPrefix reports whether a namespace begins with a prefix. A segment without ":" matches all tasks of that node
// (langgraph, stream/namespace).
func isPrefix(prefix, namespace []string) bool {
	if len(prefix) > len(namespace) {
		return false
	}
	for i, want := range prefix {
		have := namespace[i]
		if node, _, _ := strings.Cut(have, ":"); have != want && (node != want || strings.Contains(want, ":")) {
			return false
		}
	}
	return true
}

// invalid returns the error for an invalid request.
func invalid(format string, args ...any) *mapping.Error {
	return mapping.Errorf(mapping.Invalid, mapping.CodeInvalid, format, args...)
}
