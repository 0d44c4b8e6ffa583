package bridge

import (
	"fmt"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/replay"
)

// Record has the calls of one agent recorded.
func Record(agent string, to *replay.Recorder) Option {
	return func(a *App) { a.recorded, a.recorder = agent, to }
}

// record has up recorded if it is the agent that is to be.
func (a *App) record(up adapter.Upstream) adapter.Upstream {
	if a.recorder != nil && up.Name == a.recorded {
		up.Through = a.recorder.Through
	}
	return up
}

// Replayed is an upstream as it is, or, where its URL names a recording (replay:FILE), as the recorded
// agent was reached, with answers from the recording.
func Replayed(up adapter.Upstream) (adapter.Upstream, error) {
	file, ok := up.Config.Recording()
	if !ok {
		return up, nil
	}
	of, err := replay.Open(file)
	if err != nil {
		return up, fmt.Errorf("agents.%s.url: %w", up.Name, err)
	}
	up.Config.URL, up.Through = of.URL, replay.NewPlayer(of).Through
	if up.Config.Dialect == "auto" && of.Dialect != "" {
		up.Config.Dialect = of.Dialect
	}
	return up, nil
}
