package engine

import (
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
)

// measure is how much a run has logged, over all its attempts.
type measure struct {
	events int
	bytes  int64
}

// add counts one event by what is logged of it.
func (m *measure) add(ev *mapping.Event) {
	m.events++
	m.bytes += int64(len(ev.Data))
	if s := ev.Head.Step; s != nil {
		m.bytes += int64(len(s.Output) + len(s.Additional))
	}
	for _, q := range ev.Head.Interrupts {
		m.bytes += int64(len(q.Value))
	}
}

// exceeds is the error of a run that has logged more than it may; nil else.
func (m *measure) exceeds(limits config.Limits, agent string) error {
	switch {
	case limits.RunEvents > 0 && m.events > limits.RunEvents:
		return mapping.Errorf(mapping.Upstream, mapping.CodeEventLimit,
			"Agent %s was stopped after %d events of one run (limits.run_events).", agent, limits.RunEvents)
	case limits.RunBytes > 0 && m.bytes > int64(limits.RunBytes):
		return mapping.Errorf(mapping.Upstream, mapping.CodeEventLimit,
			"Agent %s was stopped after %d bytes of events of one run (limits.run_bytes).", agent, int64(limits.RunBytes))
	}
	return nil
}
