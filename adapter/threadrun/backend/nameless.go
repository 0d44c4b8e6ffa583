package backend

import (
	"encoding/json"
	"slices"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

// questionIDs assigns the reported ids to questions that are read at the end of a run. A question without an id from
// the server is matched by its value to one from a frame. If no frame had that value, it is the next question of the
// run.
type questionIDs struct {
	run  string
	told []mapping.Interrupt // questions without a server id that are not matched yet
	next int
}

func (tr *translator) questionIDs() *questionIDs {
	own := func(q mapping.Interrupt) bool { return !q.Nameless }
	return &questionIDs{run: tr.t.Run.ID, told: slices.DeleteFunc(slices.Clone(tr.told.asked), own), next: len(tr.told.asked)}
}

func (n *questionIDs) id(w interruptWire) string {
	if id := w.id(); id != "" {
		return id
	}
	i := slices.IndexFunc(n.told, func(q mapping.Interrupt) bool { return rawjson.Equal(q.Value, orNull(w.Value)) })
	if i < 0 {
		n.next++
		return mapping.InterruptID(n.run, n.next-1)
	}
	id := n.told[i].ID
	n.told = slices.Delete(n.told, i, i+1)
	return id
}

// toNameless returns an answer in the form for the server. If the server has no id for the answered question, that is
// only the value.
func toNameless(answer json.RawMessage, open []mapping.Interrupt) json.RawMessage {
	for _, q := range open {
		if value := rawjson.Get(answer, q.ID); q.Nameless && value != nil {
			return value
		}
	}
	return answer
}

// named returns the questions whose ids the server knows.
func named(open []mapping.Interrupt) []mapping.Interrupt {
	return slices.DeleteFunc(slices.Clone(open), func(q mapping.Interrupt) bool { return q.Nameless })
}
