package service

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
)

// maxTasksDelay is how long a state, or all pages of a history together, wait for tasks from agents. After that they have
// the logged ones.
const maxTasksDelay = 5 * time.Second

// agentTasks reads the state tasks of a thread's checkpoints from its agents, for a history from newer to older
// checkpoints.
type agentTasks struct {
	s      *Service
	thread mapping.Thread
	before string // the history starts before this checkpoint; "" means at the newest
	walks  []*taskWalk
	begun  bool
	waited time.Duration // for earlier pages
}

// taskWalk iterates over the checkpoints of one copy.
type taskWalk struct {
	copied *agentCopy
	before *adapter.Fork
	run    string // the agent's run whose checkpoints are read; "": all
	ours   string // the bridge's id of that run
	over   bool   // there are no more, or the agent cannot list them
	read   map[taskKey]json.RawMessage
}

// taskKey identifies a checkpoint of a copy by its id there or, because streams do not contain the id, by its run, step
// and source. For a server that names no runs, it has only step and source.
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

// wantedTasks lists the checkpoints whose tasks are needed, newest first, with the bridge's ids of each.
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

// wantedOf returns the checkpoints of a page that can have tasks at an agent.
func wantedOf(page []mapping.Checkpoint) *wantedTasks {
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
	return wanted
}

// of returns the tasks of checkpoints that agents returned in time, by the ids of the checkpoints.
func (a *agentTasks) of(ctx context.Context, page []mapping.Checkpoint) map[string]json.RawMessage {
	wanted, found := wantedOf(page), map[string]json.RawMessage{}
	if len(wanted.keys) == 0 || a.waited >= maxTasksDelay {
		return found
	}
	ctx, stop := context.WithTimeout(ctx, maxTasksDelay-a.waited)
	defer stop()
	defer func(began time.Time) { a.waited += a.s.store.Now().Sub(began) }(a.s.store.Now())
	a.begin(ctx)
	a.walks = slices.DeleteFunc(a.walks, func(w *taskWalk) bool { // a history of many runs does not hold and read all of them
		return w.ours != "" && !slices.ContainsFunc(page, func(c mapping.Checkpoint) bool { return c.RunID == w.ours })
	})
	for _, w := range a.walks {
		w.find(ctx, wanted, found)
	}
	a.findOriginals(ctx, page, wanted, found)
	return found
}

// findOriginals finds the originals of past checkpoints that were copied from another thread. Each of that thread's
// runs is read by its own walk, since the thread may have continued for a long time. The walk ends with the pages that
// have checkpoints of the run.
func (a *agentTasks) findOriginals(ctx context.Context, page []mapping.Checkpoint, wanted *wantedTasks, found map[string]json.RawMessage) {
	wanted.keys = slices.DeleteFunc(wanted.keys, func(key taskKey) bool { return slices.Contains(wanted.ids[key], a.thread.Head) })
	for _, c := range page {
		if !slices.Contains(wanted.keys, taskKeyOf(c)) || c.RunID == "" {
			continue
		}
		l, err := a.s.store.Links.Before(ctx, "", c)
		if err != nil || l.RemoteRun == "" || slices.ContainsFunc(a.walks, func(w *taskWalk) bool {
			return w.copied.of.Link.Remote == l.Remote && (w.run == "" || w.run == l.RemoteRun)
		}) {
			continue
		}
		copied, err := a.s.openCopy(ctx, a.thread, l, c.RunID)
		if copied == nil || err != nil {
			continue
		}
		w := &taskWalk{copied: copied, run: l.RemoteRun, ours: c.RunID, read: map[taskKey]json.RawMessage{}}
		a.walks = append(a.walks, w)
		w.find(ctx, wanted, found)
	}
}

// begin finds the copies to read: those that the thread's agents currently use.
func (a *agentTasks) begin(ctx context.Context) {
	if a.begun {
		return
	}
	a.begun = true
	links, _ := a.s.store.Links.List(ctx, a.thread.ID) // without links, the logged tasks are used
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

// start returns where a history starts on a copy. It returns nil for the newest checkpoint, or if the copy does not
// have the checkpoint before which the history starts.
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

// find moves checkpoints from wanted to found, with their tasks. If some are missing, it reads further pages, at most
// two.
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

// take returns the tasks of a checkpoint that was read. If the server names no runs, it takes the newest checkpoint of
// that step that was not taken yet, because an older copy may have counted the same steps.
func (w *taskWalk) take(key taskKey) (tasks json.RawMessage, ok bool) {
	if tasks, ok = w.read[key]; ok || key.id != "" {
		return tasks, ok
	}
	if w.run != "" { // only this run was requested, and the server named another
		return nil, false
	}
	key.run = ""
	tasks, ok = w.read[key]
	delete(w.read, key)
	return tasks, ok
}

// readOn reads the next page of checkpoints of the copy.
func (w *taskWalk) readOn(ctx context.Context, limit int) {
	list, err := w.copied.TaskHistory(ctx, w.copied.of, w.before, w.run, limit)
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
