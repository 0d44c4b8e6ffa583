package engine

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/mapping/state"
	"github.com/apbridge/apbridge/proxy/memory"
)

// assignment returns the backend's input for the run.
func (x *execution) assignment(ctx context.Context, traits adapter.Traits, logged []mapping.Event) (*adapter.Assignment, error) {
	in, err := inputOnce(&x.Run, x.input)
	if err != nil {
		return nil, err
	}
	x.input = nil // it may be large; another attempt reads it again
	files := &runFiles{x: x, none: x.newThread && len(in.Files)+rule.HeldAttachments(in.Messages) == 0}
	t := &adapter.Assignment{
		Run: &x.Run, Thread: &x.Thread, TaskID: x.Run.TaskID, Input: *in, State: x.rec.fold,
		Resume: x.Run.Options.Resuming && !hasUpdate(mapping.NewestAttempt(logged)), OneStep: x.oneStep(), StepText: x.text,
		After: logged, InDoubt: x.Taken,
		Files: files,
	}
	x.rec.noteGiven(filesGiven(in.Files))
	x.rec.noteGiven(x.filesOfAnswer())
	if x.next != nil {
		t.Graph.Update = x.next.Update
		x.rec.noteGiven(filesOfUpdate(t.Graph.Update))
	}
	if t.Link, err = x.link(ctx, traits, logged); err != nil {
		return nil, err
	}
	if !traits.Exposes.ReportsState() {
		err = x.assignTask(ctx, traits, t)
	} else {
		err = x.assignGraph(ctx, t)
	}
	files.continued, files.given = t.Done > 0, t.Task.Uploaded
	return t, err
}

// hasUpdate reports whether the agent has responded and therefore received the answer with which the run was resumed.
func hasUpdate(logged []mapping.Event) bool {
	for i := range logged {
		if logged[i].Kind == mapping.KindUpdate {
			return true
		}
	}
	return false
}

func filesGiven(files map[string]json.RawMessage) []rule.File {
	if len(files) == 0 {
		return nil
	}
	raw, err := json.Marshal(files)
	if err != nil {
		return nil
	}
	list, _ := rule.DecodeFiles(raw)
	return list
}

// filesOfAnswer returns the files uploaded with the answer to a task. It returns nil for a run without stepping, since
// the files of its update are not artifacts yet and are turned into artifacts later.
func (x *execution) filesOfAnswer() []rule.File {
	if x.Run.Options.Stepping == "" {
		return nil
	}
	return filesOfUpdate(x.Run.Options.Update)
}

func filesOfUpdate(raw json.RawMessage) []rule.File {
	var update struct {
		Files map[string]json.RawMessage `json:"files"`
	}
	if json.Unmarshal(raw, &update) != nil {
		return nil
	}
	return filesGiven(update.Files)
}

// link returns the link of the run's upstream thread or task. It is empty if there is none, or if only a failed attempt
// had one.
func (x *execution) link(ctx context.Context, traits adapter.Traits, logged []mapping.Event) (mapping.Link, error) {
	fresh := x.Run.Attempt > 1 && !x.Run.Options.Resuming
	own := logged
	if fresh {
		own = mapping.NewestAttempt(logged)
	}
	for _, ev := range slices.Backward(own) {
		if l := ev.Head.Link; l != nil {
			return *l, nil
		}
	}
	if x.newThread || x.firstOnThread(logged) || fresh {
		return mapping.Link{}, nil
	}
	l, err := x.e.linkOf(ctx, &x.Run, traits.Exposes)
	if err == nil {
		l.RemoteRun = ""
	}
	if err == nil && !traits.Exposes.ReportsState() && !x.Run.Options.Resuming {
		err = x.shareTopic(ctx, &l)
	}
	return l, err
}

// firstOnThread reports whether nothing was logged on the thread before this run. In that case the thread has no link.
func (x *execution) firstOnThread(logged []mapping.Event) bool {
	return !x.Taken && len(logged) > 0 && logged[0].Seq == 1
}

// shareTopic sets the agent's topic for a new task of the thread. The topic must contain exactly the conversation so
// far. If there is no such topic, the agent receives the whole conversation again.
func (x *execution) shareTopic(ctx context.Context, l *mapping.Link) error {
	l.Topic = ""
	if x.Run.Base == "" {
		return nil
	}
	links, err := x.store.Links.List(ctx, x.Run.ThreadID)
	for _, other := range links {
		if other.Agent == x.Run.Agent && other.Topic != "" && other.LocalCheckpoint == x.Run.Base {
			l.Agent, l.Topic, l.Profile, l.Uploaded = other.Agent, other.Topic, other.Profile, other.Uploaded
		}
	}
	return err
}

// assignTask fills in the input for an agent that does not report its state.
func (x *execution) assignTask(ctx context.Context, traits adapter.Traits, t *adapter.Assignment) error {
	// All runs of a task use the same token.
	access, err := x.storeAccess(ctx, memory.OfTask)
	if err != nil {
		return err
	}
	if t.Resume || t.Link.Remote != "" || x.Run.Attempt > 1 {
		if err := x.continueTask(ctx, traits, t); err != nil || t.Resume {
			return err
		}
	}
	recalled, err := x.recall(ctx, t.Input.Text)
	if err != nil {
		return err
	}
	said, err := x.conversation(ctx, &t.Input)
	if err != nil {
		return err
	}
	said.takeExtras(traits, t)
	x.setPrompt(t, said, recalled, access)
	return said.files.err
}

// recall returns the items of the long-term store for the run. It reads them unless the run's request has already done
// so, for example if the run had to wait or is on another attempt.
func (x *execution) recall(ctx context.Context, words string) (items memory.Recalled, err error) {
	if read := x.recalled; read != nil {
		items, x.recalled = *read, nil
	} else if items, err = x.e.memory.Recall(ctx, x.memoryScope(), words); err != nil {
		return items, err
	}
	x.recalledItems = items.Names()
	x.calls.addTold(x.recalledItems)
	return items, nil
}

// setPrompt sets the prompt and messages of a new upstream task as configured by the agent's memory.history and
// memory.mode.
func (x *execution) setPrompt(t *adapter.Assignment, said conversation, recalled memory.Recalled, access *memory.Access) {
	cfg := &x.agent.Config.Memory
	mode := rule.Transcript(cfg.History)
	t.Memory.Store, t.Task.Additional = givenAccess(access), x.AdditionalInput
	if cfg.Mode != "prompt" && cfg.Mode != "" {
		t.Memory.Items = givenItems(recalled)
		t.Task.Messages = said.withNames(mode.Of(said.earlier))
	}
	if cfg.Mode == "additional_input" {
		mode, recalled = rule.TranscriptNone, memory.Recalled{}
	}
	t.Task.Prompt = said.prompt(x.promptParts(mode, said.earlier, recalled))
	if t.Link.Topic != "" { // the agent's topic has the messages before the input
		t.Task.FullPrompt, t.Task.Prompt = t.Task.Prompt, said.prompt(x.promptParts(mode, said.fresh, recalled))
	}
}

// continueTask sets the answer to the question of an upstream task and the number of steps that the task has completed.
func (x *execution) continueTask(ctx context.Context, traits adapter.Traits, t *adapter.Assignment) error {
	past, err := x.e.stepsDone(ctx, x.Run.TaskID)
	if err != nil {
		return err
	}
	t.Done, t.Task.Uploaded, t.Task.PendingToolCall = past.steps, past.given, past.call
	if t.Resume {
		t.Task.Answer, err = x.answer(ctx, traits, t)
	}
	return err
}

// answer returns the answer with which the run was resumed. As for a new task, the text of a message names its files
// and begins with the messages that were sent with it.
func (x *execution) answer(ctx context.Context, traits adapter.Traits, t *adapter.Assignment) (rule.Answer, error) {
	o := x.Run.Options
	o.Verbatim = traits.TakesExtras // it may have been unknown when the answer arrived
	a, err := rule.ParseAnswer(&o)
	if err != nil || !x.Run.Options.ByMessage || a.Continue {
		return a, err
	}
	said, err := x.conversation(ctx, &t.Input)
	if err != nil || said.request == nil {
		return a, err
	}
	said.takeExtras(traits, t)
	a.Text = said.prompt(x.promptParts(rule.Transcript(x.agent.Config.Memory.History), rule.WithoutResultOf(said.fresh, t.Task.PendingToolCall), memory.Recalled{}))
	return a, said.files.err
}

// promptParts returns the parts of a prompt and its budget.
func (x *execution) promptParts(mode rule.Transcript, earlier []json.RawMessage, recalled memory.Recalled) (rule.PromptParts, int) {
	return rule.PromptParts{Mode: mode, Earlier: earlier, Notes: recalled.Lines()}, int(x.agent.Config.Memory.MaxBytes)
}

// addMemory sets the items of the long-term store and the access to it for a stateful agent.
func (x *execution) addMemory(ctx context.Context, t *adapter.Assignment) error {
	recalled, err := x.recall(ctx, t.Input.Text)
	if err != nil {
		return err
	}
	access, err := x.storeAccess(ctx, memory.OfRun)
	t.Memory = adapter.AgentMemory{Items: givenItems(recalled), Store: givenAccess(access)}
	return err
}

func givenItems(recalled memory.Recalled) []adapter.MemoryItem {
	var list []adapter.MemoryItem
	for _, it := range recalled.Items {
		list = append(list, adapter.MemoryItem(it))
	}
	return list
}

func givenAccess(access *memory.Access) *adapter.StoreAccess {
	if access == nil {
		return nil
	}
	return &adapter.StoreAccess{URL: access.URL, Token: string(access.Token), Namespaces: access.Namespaces, Writes: access.Writes}
}

// assignGraph fills in the input for an agent that reports its state. If both sides agree on the state, that is only
// the new input. Otherwise it is the whole state, for a new upstream thread.
func (x *execution) assignGraph(ctx context.Context, t *adapter.Assignment) error {
	apart, err := x.answersOwnThread(ctx, t.Link)
	if err == nil && apart {
		err = x.readAgentState(ctx)
	}
	if err != nil {
		return err
	}
	if err := x.addMemory(ctx, t); err != nil {
		return err
	}
	base, missing := x.base(ctx) // if it is missing, a run can still continue from the agent's current state
	t.Graph.BaseParent = base.Parent
	if len(mapping.NewestAttempt(t.After)) > 1 || (x.Run.Attempt > 1 || apart && t.Link.Remote != "") && t.Resume {
		return nil // the upstream run is active, or only the thread that asked can use the answer
	}
	same := x.sameState(t)
	t.Link.Undone = false // it refers to the previous run
	if same || x.Run.Base == "" && t.Link.Remote == "" {
		return nil
	}
	if t.Link.Remote != "" && x.Run.Base != "" {
		if missing != nil {
			return missing
		}
		fork, err := x.forkOf(ctx, base, t.Link.Remote)
		if t.Graph.Fork = fork; err != nil || fork != nil && fork.Checkpoint != "" {
			return err
		}
	}
	if t.Graph.Values = x.rec.fold.JSON(); t.Graph.Fork == nil {
		t.Link = mapping.Link{}
	}
	t.Graph.AsNode = base.AsNode
	return missing
}

// base returns the checkpoint that the run starts from, or zero.
func (x *execution) base(ctx context.Context) (mapping.Checkpoint, error) {
	if x.Run.Base == "" {
		return mapping.Checkpoint{}, nil
	}
	return x.store.States.Checkpoint(ctx, x.Run.ThreadID, x.Run.Base)
}

// sameState reports whether the agent's thread has the state that the run begins with. After a rollback, the link names
// the checkpoint before the rolled-back run, but the agent still has that run's changes. An answer must go to the
// thread that asked.
func (x *execution) sameState(t *adapter.Assignment) bool {
	return t.Link.Remote != "" && t.Link.LocalCheckpoint == x.Run.Base && (!t.Link.Undone || t.Resume)
}

// forkOf returns the run's base c as a point of the linked upstream thread, or nil if it is not one. Streams do not
// contain the ids of checkpoints. A checkpoint within a run is therefore identified by the upstream run that was logged
// before it.
func (x *execution) forkOf(ctx context.Context, c mapping.Checkpoint, linked string) (*adapter.Fork, error) {
	switch {
	case c.Remote != "" && c.RemoteThread == linked:
		return &adapter.Fork{Checkpoint: c.Remote}, nil
	case c.Remote != "" || c.RunID == "":
		return nil, nil
	}
	l, err := x.store.Links.Before(ctx, x.Run.ThreadID, c)
	if err != nil || l.Remote != linked || l.RemoteRun == "" {
		return nil, err
	}
	return &adapter.Fork{Run: l.RemoteRun, Step: c.Step}, nil
}

// conversation holds the thread's messages for an agent that starts a new upstream task.
type conversation struct {
	in      *rule.Input
	earlier []json.RawMessage // all except the request
	fresh   []json.RawMessage // the part of earlier that was sent with the run's input
	request json.RawMessage   // nil if there is none
	files   *attachments
}

// conversation returns the messages of the state that the run began with, with its input merged by id.
func (x *execution) conversation(ctx context.Context, in *rule.Input) (conversation, error) {
	base, err := x.e.log.Base(ctx, x.Run.ThreadID, x.Run.Base)
	if err != nil {
		return conversation{}, err
	}
	c := conversation{in: in, files: x.e.attachments(ctx, x.Run.ThreadID, x.rec.fold)}
	merged, err := withInput(base, in)
	if err != nil {
		return c, err
	}
	c.earlier, c.request = in.PartConversation(merged)
	c.fresh, _ = in.PartConversation(in.New(base))
	return c, nil
}

// takeExtras moves the extras of the request to the assignment if the agent takes them.
func (c *conversation) takeExtras(traits adapter.Traits, t *adapter.Assignment) {
	if traits.TakesExtras && c.request != nil {
		c.request, t.Task.Extras = rule.TakeExtras(c.request)
	}
}

// withInput returns the messages of a state with those of an input merged by id.
func withInput(base *state.Fold, in *rule.Input) ([]json.RawMessage, error) {
	if len(base.Messages()) == 0 && !slices.ContainsFunc(in.Messages, state.Removes) {
		return in.Messages, nil
	}
	after, err := base.Reduce(in.Delta())
	if err != nil {
		return nil, err
	}
	return after.Messages(), nil
}

// prompt returns the prompt of t and the request.
func (c conversation) prompt(t rule.PromptParts, budget int) string {
	t.TextOf = c.say
	if c.request != nil {
		t.Current = c.say(c.request)
	}
	text, _ := t.Prompt(budget)
	return text
}

func (c conversation) say(message json.RawMessage) string {
	return c.in.InputTextWithFiles(message, c.files.name)
}

// withNames returns messages whose contents also name their files and tool calls, for protocols whose messages have no
// fields for them. The agent receives the files themselves as uploads.
func (c conversation) withNames(messages []json.RawMessage) []json.RawMessage {
	list := make([]json.RawMessage, len(messages))
	for i, m := range messages {
		list[i] = m
		said := rule.MessageText(m)
		if len(rule.Attachments(m)) > 0 {
			said = c.say(m)
		} else if rule.WithCalls(m, said) == said {
			continue
		}
		list[i] = rule.WithContent(m, rule.WithCalls(m, said))
	}
	return list
}
