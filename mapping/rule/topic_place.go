package rule

import (
	"encoding/json"
	"slices"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/state"
)

// place orders the messages of the state, those of a run together.
func (d *dialogue) place() {
	for _, m := range d.Messages {
		run, known := d.owner[state.IDOfMessage(m)]
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

// message returns a message as an interaction. ok is false if the message is not shown as one.
func (d *dialogue) message(m json.RawMessage, run int) (Interaction, bool) {
	id, kind := state.IDOfMessage(m), messageKind(m)
	said := Interaction{ID: id, TopicID: d.TopicID}
	said.CreatedAt = MessageTime(id)
	if run != outside {
		said.TaskID, said.CreatedAt = d.Runs[run].TaskID, d.Runs[run].CreatedAt
	}
	extra := rawjson.Get(rawjson.Get(m, "additional_kwargs"), "apbridge")
	if rawjson.Kind(extra) != '{' {
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
		if IsFaultMessage(m) {
			return said, false // reported with the end of the run
		}
		said.Role = RoleAgent
		said.Output, said.AdditionalOutput = ref(MessageText(m)), extra
		if run != outside {
			return d.closing(said, run)
		}
		return said, id != ""
	}
	return said, false
}

// complete adds the other data of an interaction that started a task or answered a question. The text from which a task
// was derived keeps its first id, even if the agent gave the message another one.
func (d *dialogue) complete(said *Interaction, run int) {
	if d.derived(said, run) {
		said.ID = mapping.MessageID(said.TaskID, "input")
	}
	if t, ok := d.tasks[said.TaskID]; ok && said.ID == mapping.MessageID(t.ID, "input") {
		said.AdditionalInput, said.CreatedAt = t.AdditionalInput, t.CreatedAt
	}
	if run != outside && said.ID == mapping.MessageID(d.Runs[run].ID, "answer") {
		said.AdditionalInput = rawjson.Get(d.Runs[run].Kwargs, "additional_input")
	}
}

// derived reports whether said is the text of the task that the run began, under another id. A run that was not created
// for a task has its own id as task id.
func (d *dialogue) derived(said *Interaction, run int) bool {
	if run == outside || d.begun[said.TaskID] != run || d.Runs[run].ID == said.TaskID {
		return false
	}
	t, ok := d.tasks[said.TaskID]
	if !ok || !t.HasInput || t.Input != *said.Input {
		return false
	}
	id := mapping.MessageID(t.ID, "input")
	_, there := d.owner[id]
	return !there && !hasInteraction(d.turns[run].messages, id)
}

func hasInteraction(list []Interaction, id string) bool {
	return slices.ContainsFunc(list, func(said Interaction) bool { return said.ID == id })
}

// closing returns an ai message of a run, if it is the run's last.
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

func withInterrupt(additional json.RawMessage, asked []mapping.Interrupt) json.RawMessage {
	var o rawjson.Object
	_ = o.PutAll(additional)
	o.Put(rawjson.Member{Name: "interrupt", Value: InterruptList(asked)})
	return o.JSON()
}

// appendRun appends a run's contribution once, after the runs before it.
func (d *dialogue) appendRun(out []Interaction, run int) []Interaction {
	for i := 0; i < run; i++ {
		if !d.turns[i].present {
			out = d.appendOne(out, i)
		}
	}
	return d.appendOne(out, run)
}

func (d *dialogue) appendOne(out []Interaction, run int) []Interaction {
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

// unsaid returns the input of a task whose first run has added no message of a person, because it has not begun or
// because its agent keeps no messages.
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

// waiting returns the inputs of tasks whose steps were not requested yet.
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

func (d *dialogue) pending(t mapping.Task) (Interaction, bool) { return InteractionOf(t), t.HasInput }
