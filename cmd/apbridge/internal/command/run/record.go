package run

import (
	"fmt"

	"github.com/apbridge/apbridge/adapter/replay"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/bridge"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/console"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/outfile"
	"github.com/apbridge/apbridge/config"
)

// recording opens the file that an errand's calls are recorded to. ended must follow the last of
// them; it says what was recorded, or why the file is not whole.
func (p *program) recording(cfg *config.Config, e errand) (with []bridge.Option, ended func() error, err error) {
	if e.record == "" {
		return nil, func() error { return nil }, nil
	}
	agent := cfg.Agents[e.agent]
	if _, recorded := agent.Recording(); recorded {
		return nil, nil, console.Misuse("flag --record: the agent is a recording already. Name an agent that can be called")
	}
	file, err := outfile.OpenPrivate(e.record)
	if err != nil {
		return nil, nil, console.Misuse(fmt.Sprintf("flag --record: %v. Name another file", console.ReasonOf(err)))
	}
	if err := file.Begin(); err != nil {
		return nil, nil, err
	}
	r := replay.NewRecorder(file, replay.Head{URL: agent.URL, Dialect: agent.Dialect})
	return []bridge.Option{bridge.Record(e.agent, r)}, func() error {
		err := r.Err()
		if closed := file.Close(); err == nil {
			err = closed
		}
		if err != nil {
			return fmt.Errorf("the recording %s is not whole: %w", e.record, err)
		}
		fmt.Fprintf(p.Err, "(recorded %d calls to %s. It holds what was said on both sides, and no headers of yours: look at it before you give it away)\n", r.Count(), e.record)
		return nil
	}, nil
}
