package rule

import (
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/state"
)

// dialogue assigns messages to the runs that added them.
type dialogue struct {
	Conversation
	tasks   map[string]mapping.Task
	begun   map[string]int // task id → its first run
	owner   map[string]int // message id → run, or outside
	claimed []bool         // the run added messages
	turns   []turn
	order   []segment
}

const outside = -1

// turn is the contribution of one run.
type turn struct {
	before, messages, after []Interaction
	last                    string // id of its last ai message; "" during the run
	present, told           bool   // present: some of its messages are in the state; told: it was already appended
}

// segment is a message without a run, or the place of a run.
type segment struct {
	outside *Interaction
	run     int
}

func newDialogue(c Conversation) *dialogue {
	d := &dialogue{
		Conversation: c, tasks: map[string]mapping.Task{}, begun: map[string]int{}, owner: map[string]int{},
		claimed: make([]bool, len(c.Runs)), turns: make([]turn, len(c.Runs)),
	}
	for _, t := range c.Tasks {
		d.tasks[t.ID] = t
	}
	for i, r := range c.Runs {
		if _, ok := d.begun[r.TaskID]; !ok {
			d.begun[r.TaskID] = i
		}
	}
	return d
}

// claim assigns messages to the runs that added them. A run added the messages in the state after it that were not
// there before.
func (d *dialogue) claim() {
	for i, told := range d.Told {
		if len(told) == 0 {
			continue
		}
		d.assign(told[0].Before, outside)
		d.claimed[i] = d.assign(told[len(told)-1].After, i)
	}
}

// assign assigns the messages without a run to a run. New ones are at the end, so it stops at the first known one.
func (d *dialogue) assign(f *state.Fold, run int) (any bool) {
	if f == nil {
		return false
	}
	list := f.Messages()
	for i := len(list) - 1; i >= 0; i-- {
		id := state.IDOfMessage(list[i])
		if _, known := d.owner[id]; known && id != "" {
			return any
		}
		if id != "" {
			d.owner[id], any = run, true
		}
	}
	return any
}

// summarise determines the interactions that each run adds to its messages.
func (d *dialogue) summarise() {
	for i := range d.Runs {
		t, told := &d.turns[i], d.Told[i]
		if said, ok := d.answer(i); ok {
			t.before = append(t.before, said)
		}
		if n := len(told); n > 0 && told[n-1].Kind == mapping.KindEnd && told[n-1].Head.Outcome != nil {
			d.addEnding(i, told)
		}
	}
}

// addEnding handles a run that has ended: its last message, or the reason why there is none.
func (d *dialogue) addEnding(i int, told []*state.Entry) {
	t, last := &d.turns[i], told[len(told)-1]
	t.last = d.lastWords(i, last.After)
	out := last.Head.Outcome
	closing := Interaction{
		TopicID: d.TopicID, TaskID: d.Runs[i].TaskID, Role: RoleAgent, CreatedAt: last.At, Artifacts: artifactsOf(told),
	}
	asked := openQuestions(last)
	switch {
	case len(asked) > 0 && t.last != asking(told):
		closing.ID = asked[0].ID
		closing.Output, closing.AdditionalOutput = ref(questionTexts(asked)), rawObject("interrupt", InterruptList(asked))
	case len(asked) > 0 || out.Status == mapping.RunSuccess && t.last != "", out.Status == mapping.RunInterrupted && !out.Cancelled:
		return
	case out.Status != mapping.RunSuccess:
		fault := endFault(out)
		closing.ID = mapping.MessageID(d.Runs[i].ID, "end")
		closing.Output, closing.AdditionalOutput = ref("Error: "+fault.Message), faultOutput(fault, skippedAtEnd(told))
	default:
		closing.ID = mapping.MessageID(d.Runs[i].ID, "end")
	}
	t.after = append(t.after, closing)
}

// lastWords returns the id of the last ai message with text that the run added.
func (d *dialogue) lastWords(run int, f *state.Fold) string {
	if f == nil {
		return ""
	}
	list := f.Messages()
	for i := len(list) - 1; i >= 0; i-- {
		id := state.IDOfMessage(list[i])
		if owner, ok := d.owner[id]; id == "" || !ok || owner != run {
			continue
		}
		if answerIn(list[i]) != "" {
			return id
		}
	}
	return ""
}

// asking returns the id of the message of the step that asked, for an agent with its own steps, or else "-", which is
// not an id.
func asking(told []*state.Entry) string {
	for i := len(told) - 1; i >= 0; i-- {
		if told[i].Kind != mapping.KindUpdate || told[i].Head.Step == nil {
			continue
		}
		list, _ := state.MessagesIn(rawjson.Get(told[i].Data, state.KeyMessages))
		if len(told[i].Head.Interrupts) > 0 && len(list) > 0 {
			return state.IDOfMessage(list[len(list)-1])
		}
		break
	}
	return "-"
}

func openQuestions(end *state.Entry) []mapping.Interrupt {
	out := end.Head.Outcome
	if out.Status != mapping.RunInterrupted || out.Cancelled {
		return nil
	}
	if len(out.Interrupts) == 0 && end.After != nil {
		return end.After.Interrupts()
	}
	return out.Interrupts
}

func artifactsOf(told []*state.Entry) []mapping.Artifact {
	var list []mapping.Artifact
	seen := map[string]bool{}
	for _, e := range told {
		for _, id := range e.Head.Artifacts {
			if !seen[id] {
				seen[id] = true
				list = append(list, mapping.Artifact{ID: id})
			}
		}
	}
	return list
}

// answer returns the answer with which the run was resumed, unless it is a message of the state or a default answer for
// a client that never sends one.
func (d *dialogue) answer(i int) (Interaction, bool) {
	r := d.Runs[i]
	id := mapping.MessageID(r.ID, "answer")
	if _, message := d.owner[id]; !r.Options.Resuming || r.Options.Guessed != "" || r.Options.ByMessage || message {
		return Interaction{}, false
	}
	return Interaction{
		ID: id, TopicID: d.TopicID, TaskID: r.TaskID, Role: RoleUser, CreatedAt: r.CreatedAt,
		Input: ref(spokenAnswer(&r.Options)), AdditionalInput: rawjson.Get(r.Kwargs, "additional_input"),
	}, true
}

// spokenAnswer returns a resume value as text.
func spokenAnswer(o *mapping.RunOptions) string {
	if text, ok := rawjson.Text(o.Resume); ok {
		return text
	}
	switch a, err := ParseAnswer(o); {
	case err != nil:
		return string(rawjson.Compact(o.Resume))
	case a.Continue:
		return "y"
	default:
		return a.Text
	}
}
