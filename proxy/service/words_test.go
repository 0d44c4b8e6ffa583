package service

import (
	"testing"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/engine"
	"github.com/google/go-cmp/cmp"
)

// What is read of words is what is read back from the message that they become.
func TestWordsReadAsTheirMessage(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		words    string
		followUp bool
	}{
		"first":     {"hi", false},
		"follow-up": {"and \"also\"\n<é\u2028", true},
	} {
		ses := &session{task: mapping.Task{ID: mapping.NewID()}}
		if c.followUp {
			ses.runs = make([]mapping.Run, 1)
		}
		p := &pull{ses: ses}
		b := runBuilder{task: &taskRun{words: c.words}}
		b.out.Run = mapping.Run{ID: mapping.NewID(), TaskID: ses.task.ID, Options: mapping.RunOptions{FollowUp: c.followUp, Input: p.inputOf(nil, []string{c.words}, nil)}}
		if err := b.read(); err != nil {
			t.Fatal(err)
		}
		back, err := engine.InputOf(b.out.Run)
		if err != nil {
			t.Fatal(err)
		}
		said := func(in mapping.Input) []string {
			return []string{string(in.Delta()), string(in.Raw), in.Text, string(in.Other)}
		}
		if d := cmp.Diff(said(back), said(b.in)); d != "" || len(back.Messages) != len(b.in.Messages) || back.HasText != b.in.HasText {
			t.Errorf("%s: %s", name, d)
		}
	}
}
