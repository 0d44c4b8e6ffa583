package mapping

import (
	"encoding/json"
	"slices"
	"time"
)

// Role of an interaction of a topic.
type Role string

const (
	RoleUser   Role = "user"
	RoleAgent  Role = "agent"
	RoleSystem Role = "system"
)

// Interaction is something said in a topic (Topic RFC of the Agent Protocol,
// "Interactions"): a message, a question, or how a task's run ended.
type Interaction struct {
	ID               string
	TopicID          string
	TaskID           string // the task it belongs to or was derived from it; "": none
	Role             Role
	Input            *string // what was said to the agent
	AdditionalInput  json.RawMessage
	Output           *string // what the agent said
	AdditionalOutput json.RawMessage
	Artifacts        []Artifact // nothing but their ID
	CreatedAt        time.Time  // zero: not known
}

// Conversation is what interactions are told from: Messages are those of the
// thread's newest state, Tasks and Runs all of the thread's, oldest first, and
// Told the entries of each run, nil for one that has not begun.
type Conversation struct {
	TopicID  string
	Messages []json.RawMessage
	Tasks    []Task
	Runs     []Run
	Told     [][]*Entry
}

// Interactions are the messages of people and systems, the questions, the last
// message of the agent in each run, and the ends of runs that said nothing, in
// the order of the conversation. What a task waits to be told stands at the
// end. Messages of a part of the history that was forked away from, and runs
// whose messages all went with it, are left out.
func (c Conversation) Interactions() []Interaction {
	d := newDialogue(c)
	d.claim()
	d.summarise()
	d.place()
	var out []Interaction
	for _, s := range d.order {
		if s.outside != nil {
			out = append(out, *s.outside)
			continue
		}
		out = d.tell(out, s.run)
	}
	for i := range c.Runs {
		out = d.tell(out, i)
	}
	return append(out, d.waiting()...)
}

// dialogue sorts messages to the runs that brought them.
type dialogue struct {
	Conversation
	tasks   map[string]Task
	begun   map[string]int // task id → its first run
	owner   map[string]int // message id → run, or outside
	claimed []bool         // the run brought messages
	turns   []turn
	order   []segment
}

const outside = -1

// turn is what one run contributes.
type turn struct {
	before, messages, after []Interaction
	last                    string // id of its last ai message; "" while it runs
	present, told           bool   // some of its messages are in the state; it was told already
}

// segment is a message that belongs to no run, or the place of a run.
type segment struct {
	outside *Interaction
	run     int
}

func newDialogue(c Conversation) *dialogue {
	d := &dialogue{
		Conversation: c, tasks: map[string]Task{}, begun: map[string]int{}, owner: map[string]int{},
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

// claim finds out which run brought which message: whatever is in the state
// after it and was not before.
func (d *dialogue) claim() {
	for i, told := range d.Told {
		if len(told) == 0 {
			continue
		}
		d.assign(told[0].Before, outside)
		d.claimed[i] = d.assign(told[len(told)-1].After, i)
	}
}

// assign gives the messages that nobody has to a run. New ones stand at the
// end, so that it stops at the first that is known.
func (d *dialogue) assign(f *Fold, run int) (any bool) {
	if f == nil {
		return false
	}
	list := f.Messages()
	for i := len(list) - 1; i >= 0; i-- {
		id := messageID(list[i])
		if _, known := d.owner[id]; known && id != "" {
			return any
		}
		if id != "" {
			d.owner[id], any = run, true
		}
	}
	return any
}

// summarise works out what each run adds to its messages.
func (d *dialogue) summarise() {
	for i := range d.Runs {
		t, told := &d.turns[i], d.Told[i]
		if said, ok := d.answer(i); ok {
			t.before = append(t.before, said)
		}
		if n := len(told); n > 0 && told[n-1].Kind == KindEnd && told[n-1].Head.Outcome != nil {
			d.end(i, told)
		}
	}
}

// end is what a run that has ended leaves: its last words, or why there are none.
func (d *dialogue) end(i int, told []*Entry) {
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
	case len(asked) > 0 || out.Status == RunSuccess && t.last != "", out.Status == RunInterrupted && !out.Cancelled:
		return
	case out.Status != RunSuccess:
		fault := endFault(out)
		closing.ID = MessageID(d.Runs[i].ID, "end")
		closing.Output, closing.AdditionalOutput = ref("Error: "+fault.Message), faultOutput(fault)
	default:
		closing.ID = MessageID(d.Runs[i].ID, "end")
	}
	t.after = append(t.after, closing)
}

// lastWords is the id of the last ai message with a text that the run brought.
func (d *dialogue) lastWords(run int, f *Fold) string {
	if f == nil {
		return ""
	}
	list := f.Messages()
	for i := len(list) - 1; i >= 0; i-- {
		id := messageID(list[i])
		if owner, ok := d.owner[id]; id == "" || !ok || owner != run {
			continue
		}
		if answerIn(list[i]) != "" {
			return id
		}
	}
	return ""
}

// asking is the id of the message whose step asked, where the agent is one
// that makes steps itself; else a text that is no id.
func asking(told []*Entry) string {
	for i := len(told) - 1; i >= 0; i-- {
		if told[i].Kind != KindUpdate || told[i].Head.Step == nil {
			continue
		}
		list, _ := messageList(lookup(told[i].Data, keyMessages))
		if len(told[i].Head.Interrupts) > 0 && len(list) > 0 {
			return messageID(list[len(list)-1])
		}
		break
	}
	return "-"
}

func openQuestions(end *Entry) []Interrupt {
	out := end.Head.Outcome
	if out.Status != RunInterrupted || out.Cancelled {
		return nil
	}
	if len(out.Interrupts) == 0 && end.After != nil {
		return end.After.Interrupts()
	}
	return out.Interrupts
}

func artifactsOf(told []*Entry) []Artifact {
	var list []Artifact
	seen := map[string]bool{}
	for _, e := range told {
		for _, id := range e.Head.Artifacts {
			if !seen[id] {
				seen[id] = true
				list = append(list, Artifact{ID: id})
			}
		}
	}
	return list
}

// answer is what somebody said to the question that the run answers, where it
// is no message of the state. What was only guessed for a client that never
// says anything, nobody said.
func (d *dialogue) answer(i int) (Interaction, bool) {
	r := d.Runs[i]
	id := MessageID(r.ID, "answer")
	if _, message := d.owner[id]; !r.Options.Resuming || r.Options.Guessed != "" || message {
		return Interaction{}, false
	}
	return Interaction{
		ID: id, TopicID: d.TopicID, TaskID: r.TaskID, Role: RoleUser, CreatedAt: r.CreatedAt,
		Input: ref(spokenAnswer(r.Options.Resume, r.Options.Asked)), AdditionalInput: lookup(r.Kwargs, "additional_input"),
	}, true
}

// spokenAnswer is a resume value in words.
func spokenAnswer(resume json.RawMessage, asked []Interrupt) string {
	if text, ok := stringOf(resume); ok {
		return text
	}
	switch a, err := ParseAnswer(resume, asked); {
	case err != nil:
		return string(compactJSON(resume))
	case a.Continue:
		return "y"
	default:
		return a.Text
	}
}

// place puts the messages of the state in order: those of a run together.
func (d *dialogue) place() {
	for _, m := range d.Messages {
		run, known := d.owner[messageID(m)]
		if !known || run == outside {
			if said, ok := d.message(m, outside); ok {
				d.order = append(d.order, segment{outside: &said})
			}
			continue
		}
		t := &d.turns[run]
		if !t.present {
			t.present = true
			d.order = append(d.order, segment{run: run})
		}
		if said, ok := d.message(m, run); ok {
			t.messages = append(t.messages, said)
		}
	}
}

// message is a message as an interaction; ok is false for one that is none.
func (d *dialogue) message(m json.RawMessage, run int) (Interaction, bool) {
	id, kind := messageID(m), messageKind(m)
	said := Interaction{ID: id, TopicID: d.TopicID}
	said.CreatedAt = MessageTime(id)
	if run != outside {
		said.TaskID, said.CreatedAt = d.Runs[run].TaskID, d.Runs[run].CreatedAt
	}
	extra := lookup(lookup(m, "additional_kwargs"), "apbridge")
	if kindOf(extra) != '{' {
		extra = nil
	}
	switch kind {
	case typeHuman, typeSystem:
		said.Role = RoleUser
		if kind == typeSystem {
			said.Role = RoleSystem
		}
		said.Input, said.AdditionalInput = ref(MessageText(m)), extra
		d.complete(&said, run)
		return said, id != ""
	case typeAI:
		said.Role = RoleAgent
		said.Output, said.AdditionalOutput = ref(MessageText(m)), extra
		if run != outside {
			return d.closing(said, run)
		}
		return said, id != ""
	}
	return said, false
}

// complete adds what came with the words of an interaction, where they started
// a task or answered a question. The words that a task was derived from keep
// the id they were given then, even if the agent gave the message another one.
func (d *dialogue) complete(said *Interaction, run int) {
	if d.derived(said, run) {
		said.ID = MessageID(said.TaskID, "input")
	}
	if t, ok := d.tasks[said.TaskID]; ok && said.ID == MessageID(t.ID, "input") {
		said.AdditionalInput, said.CreatedAt = t.AdditionalInput, t.CreatedAt
	}
	if run != outside && said.ID == MessageID(d.Runs[run].ID, "answer") {
		said.AdditionalInput = lookup(d.Runs[run].Kwargs, "additional_input")
	}
}

// derived tells whether these are the words of the task that the run began,
// under another id. A run that was not made for a task has its own as task.
func (d *dialogue) derived(said *Interaction, run int) bool {
	if run == outside || d.begun[said.TaskID] != run || d.Runs[run].ID == said.TaskID {
		return false
	}
	t, ok := d.tasks[said.TaskID]
	if !ok || !t.HasInput || t.Input != *said.Input {
		return false
	}
	id := MessageID(t.ID, "input")
	_, there := d.owner[id]
	return !there && !hasInteraction(d.turns[run].messages, id)
}

func hasInteraction(list []Interaction, id string) bool {
	return slices.ContainsFunc(list, func(said Interaction) bool { return said.ID == id })
}

// closing is an ai message of a run, if it is the run's last.
func (d *dialogue) closing(said Interaction, run int) (Interaction, bool) {
	if said.ID == "" || said.ID != d.turns[run].last {
		return said, false
	}
	told := d.Told[run]
	end := told[len(told)-1]
	said.CreatedAt = end.At
	if asked := openQuestions(end); len(asked) > 0 && asking(told) == said.ID {
		said.Output, said.AdditionalOutput = ref(questionTexts(asked)), withInterrupt(said.AdditionalOutput, asked)
	}
	if len(d.turns[run].after) == 0 {
		said.Artifacts = artifactsOf(told)
	}
	return said, true
}

func withInterrupt(additional json.RawMessage, asked []Interrupt) json.RawMessage {
	var o members
	_ = eachMember(additional, o.put)
	o.put(newMember("interrupt", InterruptList(asked)))
	return joinObject(o.list)
}

// tell appends what a run contributes, once, after the runs before it.
func (d *dialogue) tell(out []Interaction, run int) []Interaction {
	for i := 0; i < run; i++ {
		if !d.turns[i].present {
			out = d.tellOne(out, i)
		}
	}
	return d.tellOne(out, run)
}

func (d *dialogue) tellOne(out []Interaction, run int) []Interaction {
	t := &d.turns[run]
	if t.told || !t.present && d.claimed[run] {
		return out
	}
	t.told = true
	if said, ok := d.unsaid(run); ok {
		out = append(out, said)
	}
	out = append(out, t.before...)
	out = append(out, t.messages...)
	return append(out, t.after...)
}

// unsaid is the input of a task whose first run has brought no words of a
// person: it has not begun, or its agent keeps no messages.
func (d *dialogue) unsaid(run int) (Interaction, bool) {
	id := d.Runs[run].TaskID
	if d.begun[id] != run {
		return Interaction{}, false
	}
	for _, said := range d.turns[run].messages {
		if said.Role == RoleUser {
			return Interaction{}, false
		}
	}
	return d.pending(d.tasks[id])
}

// waiting are the inputs of tasks that nobody has asked a step of.
func (d *dialogue) waiting() []Interaction {
	var list []Interaction
	for _, t := range d.Tasks {
		if _, begun := d.begun[t.ID]; begun {
			continue
		}
		if said, ok := d.pending(t); ok {
			list = append(list, said)
		}
	}
	return list
}

func (d *dialogue) pending(t Task) (Interaction, bool) { return t.Interaction(), t.HasInput }

// Interaction is the user's interaction that the task was derived from.
func (t Task) Interaction() Interaction {
	return Interaction{
		ID: MessageID(t.ID, "input"), TopicID: t.ThreadID, TaskID: t.ID, Role: RoleUser,
		Input: ref(t.Input), AdditionalInput: t.AdditionalInput, CreatedAt: t.CreatedAt,
	}
}
