package service

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
)

// maxTasksDelay bounds how long a page of a history waits for tasks from agents. After that it has the logged ones.
const maxTasksDelay = 5 * time.Second

// agentTasks reads the state tasks of a thread's checkpoints from its agents, for a history, which goes from newer
// checkpoints to older ones.
type agentTasks struct {
	s      *Service
	thread mapping.Thread
	before string // the checkpoint that the history begins before; "": it begins at the newest
	walks  []*taskWalk
	begun  bool
}

// taskWalk goes through the checkpoints of one copy.
type taskWalk struct {
	copied *agentCopy
	before *adapter.Fork
	over   bool // there are no more, or the agent cannot list them
	read   map[taskKey]json.RawMessage
}

// taskKey is what a checkpoint of a copy is known by: its id there or, since streams do not tell that, its run, step
// and source. Of a server that names no runs it has step and source alone.
type taskKey struct {
	id, run, source string
	step            int
}

func taskKeyOf(c mapping.Checkpoint) taskKey {
	if c.Remote != "" {
		return taskKey{id: c.Remote}
	}
	return taskKey{run: c.RunID, step: c.Step, source: c.Source}
}

// wantedTasks are the checkpoints whose tasks are looked for, newest first, with the bridge's ids of each.
type wantedTasks struct {
	keys []taskKey
	ids  map[taskKey][]string
}

func (w *wantedTasks) add(c mapping.Checkpoint, ids []string) {
	key := taskKeyOf(c)
	if w.ids[key] == nil {
		w.keys = append(w.keys, key)
	}
	w.ids[key] = append(w.ids[key], ids...)
}

// of returns the tasks of checkpoints that agents returned in time, by the ids of the checkpoints.
func (a *agentTasks) of(ctx context.Context, page []mapping.Checkpoint) map[string]json.RawMessage {
	wanted := &wantedTasks{ids: map[taskKey][]string{}}
	for i, c := range page {
		ids := []string{c.ID}
		for _, before := range page[i+1:] {
			if c.Remote != "" || !repeats(c, before) {
				break
			}
			c, ids = before, append(ids, before.ID)
		}
		if len(c.Next) > 0 && !isStep(c) && (c.RunID != "" || c.Remote != "") {
			wanted.add(c, ids)
		}
	}
	found := map[string]json.RawMessage{}
	if len(wanted.keys) == 0 {
		return found
	}
	ctx, stop := context.WithTimeout(ctx, maxTasksDelay)
	defer stop()
	a.begin(ctx)
	for _, w := range a.walks {
		w.find(ctx, wanted, found)
	}
	return found
}

// begin finds the copies to go through: those that the thread's agents work on now.
func (a *agentTasks) begin(ctx context.Context) {
	if a.begun {
		return
	}
	a.begun = true
	links, _ := a.s.store.Links.List(ctx, a.thread.ID)
	for _, l := range links {
		if l.TaskID != "" || l.Remote == "" {
			continue
		}
		copied, err := a.s.openCopy(ctx, a.thread, l, "")
		if copied == nil || err != nil {
			continue
		}
		a.walks = append(a.walks, &taskWalk{copied: copied, before: a.start(ctx, l), read: map[taskKey]json.RawMessage{}})
	}
}

// start returns where a history begins on a copy. It is nil for the newest checkpoint, also if the copy does not have
// the one that the history begins before.
func (a *agentTasks) start(ctx context.Context, l mapping.Link) *adapter.Fork {
	if a.before == "" {
		return nil
	}
	c, err := a.s.store.States.Checkpoint(ctx, a.thread.ID, a.before)
	if err != nil {
		return nil
	}
	at, err := a.s.copyAt(ctx, a.thread, c)
	if err != nil || at == nil || at.of.Link.Remote != l.Remote {
		return nil
	}
	return &at.at
}

// find moves checkpoints from wanted to found, with their tasks. While some are missing it reads on, at most twice.
func (w *taskWalk) find(ctx context.Context, wanted *wantedTasks, found map[string]json.RawMessage) {
	for reads := 0; ; reads++ {
		wanted.keys = slices.DeleteFunc(wanted.keys, func(key taskKey) bool {
			tasks, ok := w.take(key)
			for _, id := range wanted.ids[key] {
				if ok {
					found[id] = tasks
				}
			}
			return ok
		})
		if len(wanted.keys) == 0 || w.over || reads == 2 {
			return
		}
		w.readOn(ctx, len(wanted.keys)+4)
	}
}

// take returns the tasks of a checkpoint that was read. Without names of runs it is the newest one of its step that was
// not taken: an older copy may have counted the same steps.
func (w *taskWalk) take(key taskKey) (tasks json.RawMessage, ok bool) {
	if tasks, ok = w.read[key]; ok || key.id != "" {
		return tasks, ok
	}
	key.run = ""
	tasks, ok = w.read[key]
	delete(w.read, key)
	return tasks, ok
}

// readOn reads the next checkpoints of the copy.
func (w *taskWalk) readOn(ctx context.Context, limit int) {
	list, err := w.copied.TaskHistory(ctx, w.copied.of, w.before, limit)
	w.over = err != nil || len(list) < limit
	if len(list) == 0 {
		return
	}
	w.before = &adapter.Fork{Checkpoint: list[len(list)-1].Checkpoint}
	clear(w.read)
	for _, at := range list {
		w.read[taskKey{id: at.Checkpoint}] = at.Tasks
		if key := (taskKey{run: at.Run, step: at.Step, source: at.Source}); w.read[key] == nil {
			w.read[key] = at.Tasks
		}
	}
}
