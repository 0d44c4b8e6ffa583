package bridge

import (
	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/replay"
	"github.com/apbridge/apbridge/config"
)

// recording is of the calls of one agent. The zero value records none.
type recording struct {
	agent string
	to    *replay.Recorder
}

// Record returns an Option that has the calls of one agent recorded.
func Record(agent string, to *replay.Recorder) Option {
	return func(a *App) { a.recording = recording{agent, to} }
}

// of has up recorded if it is the agent that is to be.
func (r recording) of(up adapter.Upstream) adapter.Upstream {
	if r.to != nil && up.Name == r.agent {
		up.Through = r.to.Through
	}
	return up
}

// Replayed returns an upstream as it is, or, where its URL names a recording (replay:FILE), as the recorded agent was
// reached, with answers from the recording. A recording that cannot be read is a config.Complaints, as every value is
// that is of no use.
func Replayed(up adapter.Upstream) (adapter.Upstream, error) {
	file, ok := up.Config.Recording()
	if !ok {
		return up, nil
	}
	of, err := replay.Open(file)
	if err != nil {
		return up, config.Complaints{{Key: "agents." + up.Name + ".url", Text: err.Error()}}
	}
	up.Config.URL, up.Through = of.URL, replay.NewPlayer(of).Through
	if up.Config.Dialect == "auto" && of.Dialect != "" {
		up.Config.Dialect = of.Dialect
	}
	return up, nil
}
