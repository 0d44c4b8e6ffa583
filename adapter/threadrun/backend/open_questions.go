package backend

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

// asks reports whether a state has questions that may be open.
func asks(st stateWire) bool {
	return len(questions(st, interruptWire.id, func(string) bool { return true })) > 0
}

// questions returns the open questions of a state with the state tasks that ask them. LangGraph keeps an answered
// question in the state while other questions of the same superstep are open (prepare_state_snapshot in pregel). In
// that case next no longer names the node of the question's task, or names it less often if the node has several tasks
// (Send). For such a node, asked reports which questions are open, by the ids that id returns.
func questions(st stateWire, id func(interruptWire) string, asked func(id string) bool) []mapping.Interrupt {
	var tasks []taskWire
	if json.Unmarshal(st.Tasks, &tasks) != nil {
		return nil
	}
	var list []mapping.Interrupt
	for _, t := range tasks {
		come, all := comeNext(st, tasks, t.Name)
		for _, w := range t.Interrupts {
			if name := id(w); come >= all || asked(name) {
				list = append(list, w.question(name, t.ID, t.within()))
			}
		}
	}
	return list
}

// comeNext counts the tasks of a node that ask, and how often the node is in next. If next is missing, none of the
// tasks counts as done.
func comeNext(st stateWire, tasks []taskWire, node string) (come, all int) {
	for _, t := range tasks {
		if t.Name == node && len(t.Interrupts) > 0 {
			all++
		}
	}
	if len(st.Next) == 0 || node == "" {
		return all, all
	}
	for _, name := range st.Next {
		if name == node {
			come++
		}
	}
	return come, all
}

// open returns the open questions of the state at the end of the run. Their namespaces come from frames of the graphs
// that asked them, because the state only has the namespaces of enclosing graphs.
func (o *outcome) open(st stateWire) []mapping.Interrupt {
	list := questions(st, o.frames.questionIDs().id, o.isOpen)
	for i := range list {
		list[i].Within = cmp.Or(o.frames.within[list[i].ID], list[i].Within)
	}
	return list
}

// isOpen reports whether a question is open according to the events of the run: the run has asked it, or it was open
// before and the run did not answer it.
func (o *outcome) isOpen(id string) bool {
	is := func(q mapping.Interrupt) bool { return q.ID == id }
	_, told := o.frames.askers[id]
	if told || slices.ContainsFunc(o.frames.told.asked, is) {
		return true
	}
	run := &o.t.Run.Options
	answers := func(q mapping.Interrupt) bool { return rawjson.Get(run.Resume, q.ID) != nil }
	return slices.ContainsFunc(run.Asked, is) && slices.ContainsFunc(run.Asked, answers) && !answers(mapping.Interrupt{ID: id})
}
