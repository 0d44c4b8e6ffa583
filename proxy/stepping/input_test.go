package stepping

import (
	"testing"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/proxy/engine"
	"github.com/google/go-cmp/cmp"
)

// The text in TaskRun.Words is the same as that parsed back from its message.
func TestTextIsReadLikeItsMessage(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		words    string
		followUp bool
	}{
		"first":     {"hi", false},
		"follow-up": {"and \"also\"\n<é\u2028", true},
	} {
		task, firstID := mapping.NewID(), ""
		if !c.followUp {
			firstID = mapping.MessageID(task, "input")
		}
		input := runInput(nil, []string{c.words}, firstID, nil)
		run := mapping.Run{ID: mapping.NewID(), TaskID: task, Options: mapping.RunOptions{FollowUp: c.followUp, Input: input}}
		read := rule.TextInput(c.words, engine.InputIDBase(&run))
		read.Raw = run.Options.Input
		back, err := engine.InputOf(&run)
		if err != nil {
			t.Fatal(err)
		}
		said := func(in *rule.Input) []string {
			return []string{string(in.Delta()), string(in.Raw), in.Text, string(in.Other)}
		}
		if d := cmp.Diff(said(back), said(read)); d != "" || len(back.Messages) != len(read.Messages) || back.HasText != read.HasText {
			t.Errorf("%s: %s", name, d)
		}
	}
}
