package bridge

import (
	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/replay"
	"github.com/apbridge/apbridge/config"
)

// recording records the calls to one agent. The zero value records none.
type recording struct {
	agent string
	to    *replay.Recorder
}

// Record returns an Option that records the calls to one agent.
func Record(agent string, to *replay.Recorder) Option {
	return func(a *App) { a.recording = recording{agent, to} }
}

// of adds the recorder to up if it is the recorded agent.
func (r recording) of(up adapter.Upstream) adapter.Upstream {
	if r.to != nil && up.Name == r.agent {
		up.Through = r.to.Through
	}
	return up
}

// Replayed returns an upstream unchanged, unless its URL names a recording (replay:FILE). Then it returns the recorded
// agent, whose responses come from the recording. If the recording cannot be read, the error is a config.Problems, as
// for other invalid values.
func Replayed(up adapter.Upstream) (adapter.Upstream, error) {
	file, ok := up.Config.Recording()
	if !ok {
		return up, nil
	}
	of, err := replay.Open(file)
	if err != nil {
		return up, config.Problems{{Key: "agents." + up.Name + ".url", Text: err.Error()}}
	}
	up.Config.URL, up.Through = of.URL, replay.NewPlayer(of).Through
	if up.Config.Dialect == "auto" && of.Dialect != "" {
		up.Config.Dialect = of.Dialect
	}
	return up, nil
}
