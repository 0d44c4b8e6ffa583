package plan

import (
	"encoding/json"
	"strings"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
)

// parent makes an answer of a call that a resumed parent graph repeats: the graph sends its node's input again, which a
// stateful agent that waits for an answer does not read. Without an open question it is an ordinary run.
func (b runOptions) parent() error {
	open := b.thread.Interrupts
	if b.n.ParentAnswers == nil || !b.traits.Opaque || len(open) == 0 {
		return nil
	}
	answers := map[string]json.RawMessage{}
	for id, value := range b.n.ParentAnswers {
		for _, q := range open {
			if sameQuestion(id, q.ID) {
				answers[q.ID] = value
			}
		}
	}
	if len(answers) == 0 {
		return rule.UnansweredByParent(b.thread.ID, open)
	}
	raw, err := json.Marshal(answers)
	if err != nil {
		return mapping.Classify(err)
	}
	b.out.Run.Options.Resuming, b.out.Run.Options.Resume = true, raw
	return nil
}

// sameQuestion compares ids of questions: as UUIDs they have dashes, in LangGraph they are 32 hexadecimal digits.
func sameQuestion(a, b string) bool {
	plain := func(id string) string { return strings.ToLower(strings.ReplaceAll(id, "-", "")) }
	return plain(a) == plain(b)
}
