package run

import (
	"errors"
	"fmt"
	"os"

	"github.com/apbridge/apbridge/adapter/replay"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/bridge"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/console"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/outfile"
	"github.com/apbridge/apbridge/config"
)

// draftOf begins the file of a recording. An earlier recording stays until the new one is complete.
func draftOf(e errand) (*outfile.Draft, error) {
	draft, err := outfile.NewDraft(e.record, e.force)
	switch {
	case errors.Is(err, outfile.ErrThere):
		return nil, console.Misuse(fmt.Sprintf("flag --record: %s already exists; choose another file, or overwrite it with --force", e.record))
	case err != nil:
		return nil, console.Misuse(fmt.Sprintf("flag --record: %v", err))
	}
	return draft, nil
}

// recording opens the file in which an errand's calls are recorded. ended must be called after the last call. It prints
// a summary of the recording, or returns the reason why it is incomplete.
func (p *program) recording(cfg *config.Config, e errand) (with []bridge.Option, ended func() error, err error) {
	if e.record == "" {
		return nil, func() error { return nil }, nil
	}
	agent := cfg.Agents[e.agent]
	if _, recorded := agent.Recording(); recorded {
		return nil, nil, console.Misuse("flag --record: the agent is itself a recording; use an agent that can be called")
	}
	draft, err := draftOf(e)
	if err != nil {
		return nil, nil, err
	}
	file, err := os.OpenFile(draft.Path, os.O_WRONLY, 0)
	if err != nil {
		return nil, nil, errors.Join(err, draft.Drop())
	}
	r := replay.NewRecorder(file, replay.Head{URL: agent.URL, Dialect: agent.Dialect}, agent.Credentials())
	return []bridge.Option{bridge.Record(e.agent, r)}, func() error {
		if err := errors.Join(r.Err(), file.Close()); err != nil {
			return errors.Join(fmt.Errorf("the recording %s is incomplete: %w", e.record, err), draft.Drop())
		}
		if r.Count() == 0 {
			fmt.Fprintln(p.Err, "(nothing recorded: the agent was not called)")
			return draft.Drop()
		}
		if err := draft.Keep(); err != nil {
			return err
		}
		fmt.Fprintf(p.Err, "(recorded %d calls to %s. The file contains both sides of the conversation but none of your headers. Review it before you share it.)\n", r.Count(), e.record)
		return nil
	}, nil
}
