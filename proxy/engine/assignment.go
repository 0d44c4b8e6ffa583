package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/mapping/state"
	"github.com/apbridge/apbridge/proxy/memory"
)

// assignment returns everything that the backend gets for the run.
func (x *execution) assignment(ctx context.Context, traits adapter.Traits, logged []mapping.Event) (*adapter.Assignment, error) {
	in, err := inputOnce(&x.Run, x.input)
	if err != nil {
		return nil, err
	}
	x.input = nil // it may be large; a further attempt reads it again
	files := &runFiles{x: x, none: x.newThread && len(in.Files)+rule.HeldAttachments(in.Messages) == 0}
	t := &adapter.Assignment{
		Run: &x.Run, Thread: &x.Thread, TaskID: x.Run.TaskID, Input: *in, State: x.rec.fold,
		Resume: x.Run.Options.Resuming && !hasUpdate(mapping.NewestAttempt(logged)), OneStep: x.oneStep(), Say: x.text,
		After: logged, Open: x.Taken,
		Files: files,
	}
	x.rec.given(filesGiven(in.Files))
	x.rec.given(x.filesOfAnswer())
	if x.next != nil {
		t.Update = x.next.Update
		x.rec.given(filesOfUpdate(t.Update))
	}
	if t.Link, err = x.link(ctx, traits, logged); err != nil {
		return nil, err
	}
	if traits.Opaque {
		err = x.opaque(ctx, t)
	} else {
		err = x.stateful(ctx, t)
	}
	files.goesOn, files.given = t.Done > 0, t.Uploaded
	return t, err
}

// hasUpdate reports whether the run has got an answer from its agent: what it was resumed with has been said by then.
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

// filesOfAnswer are the uploads that a task's answer brings along. Those of the update of a run that is not driven by
// steps are not artifacts yet, and become some.
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

func (x *execution) link(ctx context.Context, traits adapter.Traits, logged []mapping.Event) (mapping.Link, error) {
	afresh := x.Run.Attempt > 1 && !x.Run.Options.Resuming
	own := logged
	if afresh {
		own = mapping.NewestAttempt(logged)
	}
	for _, ev := range slices.Backward(own) {
		if l := ev.Head.Link; l != nil {
			return *l, nil
		}
	}
	if x.newThread || x.first(logged) || afresh {
		return mapping.Link{}, nil // there is none, or what a failed attempt left is not trusted
	}
	l, err := x.e.linkOf(ctx, &x.Run, traits.Opaque)
	if err == nil {
		l.RemoteRun = ""
	}
	if err == nil && traits.Opaque && !x.Run.Options.Resuming {
		err = x.shareTopic(ctx, &l)
	}
	return l, err
}

// first reports whether nothing was logged on the thread before this run, and so no link.
func (x *execution) first(logged []mapping.Event) bool {
	return !x.Taken && len(logged) > 0 && logged[0].Seq == 1
}

// shareTopic finds the agent's topic that a new task of the thread goes into: one that knows all of the conversation
// and nothing else. Any other is left, and the agent told everything anew.
func (x *execution) shareTopic(ctx context.Context, l *mapping.Link) error {
	l.Topic = ""
	if x.Run.Base == "" {
		return nil
	}
	links, err := x.e.store.Links.List(ctx, x.Run.ThreadID)
	for _, other := range links {
		if other.Agent == x.Run.Agent && other.Topic != "" && other.LocalCheckpoint == x.Run.Base {
			l.Agent, l.Topic, l.Profile = other.Agent, other.Topic, other.Profile
		}
	}
	return err
}

// opaque fills in what an opaque agent is told.
func (x *execution) opaque(ctx context.Context, t *adapter.Assignment) error {
	// Agents are told once for all runs of a task.
	access, err := x.access(ctx, memory.OfTask)
	if err != nil {
		return err
	}
	if t.Resume || t.Link.Remote != "" || x.Run.Attempt > 1 {
		if err := x.goOn(ctx, t); err != nil || t.Resume {
			return err
		}
	}
	recalled, err := x.recalled(ctx, t.Input.Text)
	if err != nil {
		return err
	}
	said, err := x.conversation(ctx, &t.Input)
	if err != nil {
		return err
	}
	err = x.brief(t, said, recalled, access)
	return cmp.Or(err, said.files.err)
}

// recalled is what the run's request has read of the long-term store, or is read now: by a run that had to wait, and by
// a further attempt.
func (x *execution) recalled(ctx context.Context, words string) (told memory.Recalled, err error) {
	if read := x.recalls; read != nil {
		told, x.recalls = *read, nil
	} else if told, err = x.e.memory.Recall(ctx, x.remembering(), words); err != nil {
		return told, err
	}
	x.told = told.Names()
	x.calls.addTold(x.told)
	return told, nil
}

// brief writes the prompt and the additional_input of a new upstream task, by the agent's memory.transcript and
// memory.deliver.
func (x *execution) brief(t *adapter.Assignment, said conversation, recalled memory.Recalled, access *memory.Access) (err error) {
	cfg := &x.agent.Config.Memory
	mode, extra := rule.Transcript(cfg.Transcript), map[string]any{}
	if cfg.Deliver != "prompt" && cfg.Deliver != "" {
		if len(recalled.Items) > 0 {
			extra[rule.ItemsMember] = recalled.Items
		}
		told := said
		told.earlier = mode.Of(said.earlier)
		if messages, _ := rule.Newest(told.inFull(), int(cfg.Budget)); len(messages) > 0 {
			extra["messages"] = messages
		}
	}
	if cfg.Deliver == "additional_input" {
		mode, recalled = rule.TranscriptNone, memory.Recalled{}
	}
	t.Prompt = said.prompt(x.telling(mode, said.earlier, recalled))
	if t.Link.Topic != "" { // the agent's topic has what stands before the input
		t.Retelling, t.Prompt = t.Prompt, said.prompt(x.telling(mode, said.fresh, recalled))
	}
	t.Additional, err = x.additional(&t.Input, extra, access)
	return err
}

// goOn continues an upstream task: how many steps it has done, and what the answer to its question means.
func (x *execution) goOn(ctx context.Context, t *adapter.Assignment) error {
	past, err := x.e.stepsDone(ctx, x.Run.TaskID)
	if err != nil {
		return err
	}
	t.Done, t.Uploaded, t.OpenCall = past.steps, past.given, past.call
	if t.Resume {
		t.Answer, err = x.answer(ctx, t)
	}
	return err
}

// answer is what the run was resumed with. The words of a message name its files and begin with what was sent beside
// it, as those of a new task do.
func (x *execution) answer(ctx context.Context, t *adapter.Assignment) (rule.Answer, error) {
	a, err := rule.ParseAnswer(&x.Run.Options)
	if err != nil || !x.Run.Options.ByMessage || a.Continue {
		return a, err
	}
	said, err := x.conversation(ctx, &t.Input)
	if err != nil || said.request == nil {
		return a, err
	}
	a.Text = said.prompt(x.telling(rule.Transcript(x.agent.Config.Memory.Transcript), rule.BesideAnswer(said.fresh, t.OpenCall), memory.Recalled{}))
	return a, said.files.err
}

// additional is the additional_input of a new upstream task: what the client of a v1 task sent, the rest of an input
// object, what is told of memory, and our own mark, by which a task is found again whose creation was never answered.
func (x *execution) additional(in *rule.Input, told map[string]any, access *memory.Access) (rawjson.Pieces, error) {
	set := []rawjson.Member{}
	if told[rule.ItemsMember] == nil {
		set = append(set, rawjson.Member{Name: rule.ItemsMember}) // it is taken out
	}
	if in.Other != nil {
		set = append(set, rawjson.Member{Name: "input", Value: in.Other})
	}
	told[rule.BridgeMember] = struct {
		Run    string         `json:"run_id"`
		Thread string         `json:"thread_id"`
		Store  *memory.Access `json:"store,omitempty"`
	}{x.Run.ID, x.Run.ThreadID, access}
	for _, key := range slices.Sorted(maps.Keys(told)) {
		value, err := json.Marshal(told[key])
		if err != nil {
			return rawjson.Pieces{}, err
		}
		set = append(set, rawjson.Member{Name: key, Value: value})
	}
	return rawjson.PiecesWith(x.AdditionalInput, set...)
}

// telling is what a prompt is made from.
func (x *execution) telling(mode rule.Transcript, earlier []json.RawMessage, recalled memory.Recalled) (rule.Telling, int) {
	return rule.Telling{Mode: mode, Earlier: earlier, Notes: recalled.Lines()}, int(x.agent.Config.Memory.Budget)
}

// remind tells a stateful agent what the long-term store has for the run.
func (x *execution) remind(ctx context.Context, t *adapter.Assignment) error {
	recalled, err := x.recalled(ctx, t.Input.Text)
	if err != nil {
		return err
	}
	access, err := x.access(ctx, memory.OfRun)
	if access != nil && access.Token == "" {
		access = nil // nothing that a graph says is a write
	}
	if err != nil || access == nil && len(recalled.Items) == 0 {
		return err
	}
	t.Memory, err = json.Marshal(struct {
		Memory []memory.Item  `json:"memory"`
		Store  *memory.Access `json:"store,omitempty"`
	}{append([]memory.Item{}, recalled.Items...), access})
	return err
}

// stateful decides what a stateful agent is sent: only what is new when both sides agree on the state, else the whole
// of it into a fresh upstream thread.
func (x *execution) stateful(ctx context.Context, t *adapter.Assignment) error {
	apart, err := x.answersOwnThread(ctx, t.Link)
	if err == nil && apart {
		err = x.takeOwnState(ctx)
	}
	if err != nil {
		return err
	}
	if err := x.remind(ctx, t); err != nil {
		return err
	}
	if len(mapping.NewestAttempt(t.After)) > 1 || (x.Run.Attempt > 1 || apart && t.Link.Remote != "") && t.Resume {
		return nil // picked up: the upstream run is under way; or an answer, which only the thread that asked can use
	}
	same := x.sameState(t)
	t.Link.Undone = false // it is of the run before, and this one begins without what that did
	if same || x.Run.Base == "" && t.Link.Remote == "" {
		return nil
	}
	if t.Link.Remote != "" && x.Run.Base != "" {
		fork, err := x.forkOf(ctx, t.Link.Remote)
		if t.Fork = fork; err != nil || fork != nil && fork.Checkpoint != "" {
			return err
		}
	}
	if t.Values = x.rec.fold.JSON(); t.Fork == nil {
		t.Link = mapping.Link{}
	}
	if x.Run.Base == "" {
		return nil
	}
	base, err := x.e.store.States.Checkpoint(ctx, x.Run.ThreadID, x.Run.Base)
	t.AsNode = rule.AuthorOf(base)
	return err
}

// sameState reports whether the agent's thread holds the state that the run begins with. The link of a run that was
// rolled back names the checkpoint before it, but what the run did at the agent is still there. An answer has to go
// where the question was asked.
func (x *execution) sameState(t *adapter.Assignment) bool {
	return t.Link.Remote != "" && t.Link.LocalCheckpoint == x.Run.Base && (!t.Link.Undone || t.Resume)
}

// forkOf is the run's base as a point of the upstream thread that is linked now; nil where it is none. Streams do not
// tell the ids of checkpoints, so that one of the middle of a run is known by the upstream run that the log names
// before it.
func (x *execution) forkOf(ctx context.Context, linked string) (*adapter.Fork, error) {
	c, err := x.e.store.States.Checkpoint(ctx, x.Run.ThreadID, x.Run.Base)
	switch {
	case err != nil:
		return nil, err
	case c.Remote != "" && c.RemoteThread == linked:
		return &adapter.Fork{Checkpoint: c.Remote}, nil
	case c.Remote != "" || c.RunID == "":
		return nil, nil
	}
	l, err := x.linkBefore(ctx, c)
	if err != nil || l.Remote != linked || l.RemoteRun == "" {
		return nil, err
	}
	return &adapter.Fork{Run: l.RemoteRun, Step: c.Step}, nil
}

// linkBefore is what the checkpoint's run had last logged of what the agent calls it.
func (x *execution) linkBefore(ctx context.Context, c mapping.Checkpoint) (l mapping.Link, err error) {
	for after := int64(0); ; {
		evs, err := x.e.store.Events.List(ctx, x.Run.ThreadID, c.RunID, after, 512)
		if mapping.Classify(err).Class == mapping.NotFound { // of a thread that this one is a copy of
			return l, nil
		}
		if err != nil || len(evs) == 0 {
			return l, err
		}
		for _, ev := range evs {
			if after = ev.Seq; after > c.Seq {
				return l, nil
			}
			if ev.Head.Link != nil {
				l = *ev.Head.Link
			}
		}
	}
}

// conversation is what the agent of a new upstream task is told of the thread's messages.
type conversation struct {
	in      *rule.Input
	earlier []json.RawMessage // all but the request
	fresh   []json.RawMessage // of them, those that came with the run's input
	request json.RawMessage   // nil for none
	files   *attachments
}

// conversation is that of the run: the state it began with, its input merged into it by id.
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

// withInput are the messages of a state with those of an input merged into them.
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

// prompt tells what t says of earlier messages and notes, and the request.
func (c conversation) prompt(t rule.Telling, budget int) string {
	t.Say = c.say
	if c.request != nil {
		t.Current = c.say(c.request)
	}
	text, _ := t.Prompt(budget)
	return text
}

func (c conversation) say(message json.RawMessage) string {
	return c.in.SayInput(message, c.files.name)
}

// inFull are the earlier messages in the form of the Agent Protocol. Files and tool calls, which that form has no
// members for, are named in their contents: the agent is given the files' bytes beside.
func (c conversation) inFull() []json.RawMessage {
	list := make([]json.RawMessage, len(c.earlier))
	for i, m := range c.earlier {
		list[i] = m
		said := rule.MessageText(m)
		if len(rule.Attachments(m)) > 0 {
			said = c.say(m)
		} else if rule.WithCalls(m, said) == said {
			continue
		}
		list[i] = rule.WithContent(m, rule.WithCalls(m, said))
	}
	return rule.RoleMessages(list)
}
