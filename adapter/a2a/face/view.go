package face

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/apbridge/apbridge/adapter/a2a/wire"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/mapping/state"
)

// view is a task of a client: a fold of the events of its runs. It returns the updates of each event, and the task at any
// event. Not safe for concurrent use.
//
// The answer is one artifact, whose id and name never change. Artifacts of an A2A agent keep their own; its other messages
// are answers like those of other agents. An artifact grows with each token of a message. When the message is
// complete it is sent again as a whole with append false, because appending makes more parts, which some clients join
// with line breaks (a2a-python, get_artifact_text). A later message replaces it. So every client that aggregates the
// updates ends with the artifact that GetTask returns.
type view struct {
	taskID, contextID string
	limit             int64                                 // a2a.max_inline
	file              func(id string) (wire.Artifact, bool) // nil: files are left out
	open              opener                                // of the files in artifacts of an A2A agent
	room              int64                                 // number of bytes that further files of a task or update may have
	link              linker                                // of larger files in messages

	status wire.TaskStatus
	after  *state.Fold
	seq    int64 // of the newest event

	based, runBased   bool
	before, runBefore earlier             // messages that were there before the task, and before its newest run
	asker             string              // the newest run that asked
	asked             []mapping.Interrupt // its questions, until they are answered
	answers           []answer

	// The message that the artifact shows.
	message string // its id
	text    strings.Builder
	whole   bool              // it was sent as a whole
	begun   map[string]string // by id: texts of messages whose tokens were interrupted by those of others
	shows   map[string]string // by id: the messages that the artifacts of an A2A agent show

	made []wire.LoggedArtifact          // the artifacts of an A2A agent, with their texts, in the order of their first versions
	from map[string]wire.LoggedArtifact // by id: messages that are artifacts of an A2A agent, in any version
}

// opener returns a file of an artifact with these contents as bytes, or as a link if it has more than room bytes. It
// returns false if the file is gone or was changed.
type opener func(id, sum string, room int64) (wire.Part, bool)

// answer is a client's answer to a question, or the question itself. Agents with a state need not keep either in it.
type answer struct {
	at      int // number of messages before it
	message wire.Message
}

// states are the states of tasks by their status.
var states = map[mapping.TaskStatus]wire.TaskState{
	mapping.TaskSubmitted: wire.StateSubmitted, mapping.TaskWorking: wire.StateWorking, mapping.TaskAsking: wire.StateInputRequired,
	mapping.TaskDone: wire.StateCompleted, mapping.TaskFailed: wire.StateFailed, mapping.TaskRejected: wire.StateRejected,
	mapping.TaskCancelled: wire.StateCanceled,
}

func newView(taskID, contextID string, limit int64) *view {
	v := &view{taskID: taskID, contextID: contextID, limit: limit, from: map[string]wire.LoggedArtifact{}}
	v.restart()
	return v
}

// begin prepares the view for the events of a run.
func (v *view) begin(r *mapping.Run) {
	v.restart()
	v.runBased = false
	if !r.Status.Active() && !v.status.Timestamp.IsZero() && v.status.Timestamp.After(r.CreatedAt) {
		return
	}
	v.status = wire.TaskStatus{State: wire.StateSubmitted, Timestamp: r.CreatedAt}
}

// restart discards the message that the artifact shows.
func (v *view) restart() {
	v.message, v.whole, v.begun, v.shows = "", false, map[string]string{}, map[string]string{}
	v.text.Reset()
}

// base sets the state before a run.
func (v *view) base(f *state.Fold) {
	if v.runBased {
		return
	}
	v.runBased, v.runBefore = true, messagesIn(f)
	if !v.based {
		v.based, v.before = true, v.runBefore
	}
}

func (v *view) partsOf(message json.RawMessage) wire.Parts { return partsOf(message, v.limit, v.link) }

// shown returns a client's message with its larger files as partsOf returns them.
func (v *view) shown(m wire.Message) wire.Message {
	if slices.ContainsFunc(m.Parts, func(p wire.Part) bool { return int64(len(p.Raw)) > v.limit }) {
		m.Parts = v.partsOf(stateMessage(&m))
	}
	return m
}

// newest returns the message that is the answer, or nil.
func (v *view) newest() json.RawMessage { return newest(v.after, v.runBefore, v.asked) }

// answered adds the message of a run that answers a question, after the question.
func (v *view) answered(r *mapping.Run, at *state.Fold) {
	raw := rawjson.Get(r.Kwargs, answerMember)
	if raw == nil {
		return
	}
	var m wire.Message
	if err := answerReader.Read(wire.V1, raw, &m); err != nil {
		return
	}
	m.TaskID, m.ContextID = v.taskID, v.contextID
	n := 0
	var list []json.RawMessage
	if at != nil {
		list = at.Messages()
		n = len(list)
	}
	isQuestion := func(m json.RawMessage) bool { return says(m) && asks(rule.MessageText(m), v.asked) }
	if q := v.question(v.asker, v.asked); q != nil && !slices.ContainsFunc(list, isQuestion) {
		v.answers = append(v.answers, answer{n, *q})
	}
	v.answers = append(v.answers, answer{n, v.shown(m)})
}

// answerReader reads messages that the face has stored.
var answerReader = wire.NewLenientReader(wire.Limits{})

// add adds the next event of a run and returns its updates in order. A nil update stands for one that cannot be shown,
// so that the numbers of the others do not depend on it.
func (v *view) add(r *mapping.Run, e *state.Entry) []*wire.StreamResponse {
	v.base(e.Before)
	if e.Kind == mapping.KindStarted && e.Head.Attempt <= 1 {
		v.answered(r, e.Before)
	}
	v.seq = e.Seq
	v.noteQuestions(r, e)
	if e.After != nil {
		v.after = e.After
	}
	var list []*wire.StreamResponse
	switch e.Kind {
	case mapping.KindStarted:
		v.restart()
		list = append(list, v.setStatus(wire.TaskStatus{State: wire.StateWorking, Timestamp: e.At}, nil))
	case mapping.KindDelta:
		list = v.token(e)
	case mapping.KindCustom:
		list = v.report(e)
	default:
		if made := v.noteArtifact(&e.Event, e.After); made != nil {
			list = v.madeUpdates(made)
		} else if e.After != e.Before {
			list = v.completed(list)
		}
	}
	if v.file != nil && e.Head.Native == nil {
		for _, id := range e.Head.Artifacts {
			list = append(list, v.fileUpdate(id))
		}
	}
	switch {
	case e.Kind == mapping.KindUpdate:
		about := new(rawjson.Writer).Open('{').Key("node").Text(e.Head.Node).Key("seq").Int(e.Seq).Close('}').Bytes
		list = append(list, v.setStatus(wire.TaskStatus{State: wire.StateWorking, Timestamp: e.At}, about))
	case e.Kind == mapping.KindEnd && e.Head.Outcome != nil:
		list = v.flush(list)
		list = append(list, v.setStatus(v.end(r.ID, e), nil))
	}
	return list
}

// addEnd adds the end of a run without the events before it. made holds the run's updates with artifacts of an A2A agent.
func (v *view) addEnd(r *mapping.Run, made []*state.Entry, end *state.Entry) {
	for _, e := range made {
		v.noteArtifact(&e.Event, end.After)
	}
	v.message, v.whole = "", true // what was sent does not matter
	v.add(r, end)
}

// noteQuestions notes the questions of an event. A message that was sent piece by piece may turn out to be one. Then it is
// no answer, although clients of the stream have it.
func (v *view) noteQuestions(r *mapping.Run, e *state.Entry) {
	switch {
	case e.Kind == mapping.KindStarted:
		v.asked = nil
	case e.Head.Outcome != nil:
		v.asker, v.asked = r.ID, e.Head.Outcome.Interrupts
	case len(e.Head.Interrupts) > 0:
		v.asker, v.asked = r.ID, e.Head.Interrupts
	}
	if asks(v.text.String(), v.asked) {
		v.restart()
	}
}

// end returns the status at the end of a run.
func (v *view) end(runID string, e *state.Entry) wire.TaskStatus {
	out := e.Head.Outcome
	s := wire.TaskStatus{State: states[out.Task()], Timestamp: e.At}
	switch s.State {
	case wire.StateInputRequired:
		s.Message = v.question(runID, out.Interrupts)
	case wire.StateFailed, wire.StateRejected:
		s.Message = v.fault(runID, out.Fault)
	}
	return s
}

// fault returns the status message of a failed task, which is never an artifact: clients would take it for the answer. Its
// metadata has the code, by which clients recognize an unknown outcome.
func (v *view) fault(runID string, f *mapping.Fault) *wire.Message {
	m := &wire.Message{MessageID: mapping.MessageID(runID, "fault"), Role: wire.RoleAgent, TaskID: v.taskID, ContextID: v.contextID}
	if f == nil || f.Message == "" {
		m.Parts = wire.Parts{wire.TextPart("The agent failed.")}
		return m
	}
	m.Parts = wire.Parts{wire.TextPart(f.Text())}
	m.Metadata = wire.Object(new(rawjson.Writer).Open('{').Key("code").Text(f.Code).Close('}').Bytes)
	return m
}

// setStatus sets the status. Its timestamp is never earlier than the previous one, although the event that starts a run may
// be slightly older than the stored run.
func (v *view) setStatus(s wire.TaskStatus, about json.RawMessage) *wire.StreamResponse {
	if s.Timestamp.Before(v.status.Timestamp) {
		s.Timestamp = v.status.Timestamp
	}
	v.status = s
	return &wire.StreamResponse{StatusUpdate: &wire.TaskStatusUpdateEvent{TaskID: v.taskID, ContextID: v.contextID, Status: s, Metadata: wire.Object(about)}}
}

// report adds a status that an A2A agent sent while it works.
func (v *view) report(e *state.Entry) []*wire.StreamResponse {
	var u wire.TaskStatusUpdateEvent
	if e.Head.Name != wire.StatusUpdateName || answerReader.Read(wire.V1, e.Data, &u) != nil {
		return nil
	}
	s := wire.TaskStatus{State: wire.StateWorking, Message: u.Status.Message, Timestamp: e.At}
	if e.Head.Waiting {
		s.State = wire.StateAuthRequired
	}
	if s.Message != nil {
		s.Message.TaskID, s.Message.ContextID, s.Message.ReferenceTaskIDs = v.taskID, v.contextID, nil
	}
	return []*wire.StreamResponse{v.setStatus(s, nil)}
}

// token adds a piece of a message of the agent's outermost graph. Progress messages are not part of the answer; see report.
func (v *view) token(e *state.Entry) []*wire.StreamResponse {
	if len(e.Head.NS) > 0 || e.Head.Passing {
		return nil
	}
	parts := rawjson.ElementsOf(e.Data)
	if len(parts) == 0 {
		return nil
	}
	v.noteArtifact(&e.Event, nil)
	kind, id, text := rawjson.GetText(parts[0], "type"), rawjson.GetText(parts[0], "id"), rule.MessageText(parts[0])
	if kind != typeAI && kind != "AIMessageChunk" || text == "" || id == v.message && v.whole {
		return nil
	}
	a, whole := v.shownAs(id), text
	more := id == v.message && v.text.Len() > 0
	if !more {
		begun := v.begun[id]
		v.turnTo(id)
		whole = begun + text
		more = begun != "" && v.shows[a.ArtifactID] == id // artifacts with ids of their own can grow by turns
	}
	if _, own := v.from[id]; own {
		v.shows[a.ArtifactID] = id
	}
	v.text.WriteString(whole)
	if !more {
		text = whole
	}
	return []*wire.StreamResponse{v.artifact(a, wire.Parts{wire.TextPart(text)}, more, false)}
}

// turnTo makes a message the one that further tokens extend.
func (v *view) turnTo(id string) {
	if !v.whole {
		v.begun[v.message] = v.text.String()
	}
	v.message, v.whole = id, false
	v.text.Reset()
	delete(v.begun, id)
}

// completed adds the update for a message that is complete, if there is a new one.
func (v *view) completed(list []*wire.StreamResponse) []*wire.StreamResponse {
	m := v.newest()
	if m == nil {
		return list
	}
	id, text := state.IDOfMessage(m), rule.MessageText(m)
	if _, made := v.from[id]; made {
		return list
	}
	if id == v.message && v.whole && text == v.text.String() {
		return list
	}
	v.turnTo(id)
	v.whole = true
	v.text.WriteString(text)
	return v.wholeUpdates(list, v.shownAs(id), v.partsOf(m))
}

// flush sends a message as a whole that ended without being part of a state.
func (v *view) flush(list []*wire.StreamResponse) []*wire.StreamResponse {
	if v.whole || v.text.Len() == 0 {
		return list
	}
	v.whole = true
	return v.wholeUpdates(list, v.shownAs(v.message), wire.Parts{wire.TextPart(v.text.String())})
}

// maxText is the longest text of one frame. Clients refuse frames of more than 4 MiB.
const maxText = 1 << 20

// wholeUpdates appends the updates for a whole artifact. A long text is split into several updates.
func (v *view) wholeUpdates(list []*wire.StreamResponse, a wire.Artifact, parts wire.Parts) []*wire.StreamResponse {
	var pieces []wire.Parts
	for _, p := range parts {
		for p.Kind == wire.PartText && len(p.Text) > maxText {
			n := maxText
			for n > 0 && p.Text[n]&0xC0 == 0x80 { // within a character
				n--
			}
			piece := p
			piece.Text, p.Text = p.Text[:n], p.Text[n:]
			pieces = append(pieces, wire.Parts{piece})
		}
		pieces = append(pieces, wire.Parts{p})
	}
	if len(pieces) == len(parts) {
		pieces = []wire.Parts{parts}
	}
	for i, piece := range pieces {
		list = append(list, v.artifact(a, piece, i > 0, i == len(pieces)-1))
	}
	return list
}

// artifact returns an update of an artifact.
func (v *view) artifact(a wire.Artifact, parts wire.Parts, more, last bool) *wire.StreamResponse {
	if more {
		a = wire.Artifact{ArtifactID: a.ArtifactID}
	}
	a.Parts = parts
	return &wire.StreamResponse{ArtifactUpdate: &wire.TaskArtifactUpdateEvent{TaskID: v.taskID, ContextID: v.contextID, Artifact: a, Append: more, LastChunk: last}}
}

// answerName is the name of the artifact with the answer.
const answerName = "response"

func (v *view) answerID() string { return mapping.MessageID(v.taskID, answerName) }

// shownAs returns the artifact for a message, without its parts. It is the artifact of an A2A agent or, for any other
// message, the answer.
func (v *view) shownAs(message string) wire.Artifact {
	if made, ok := v.from[message]; ok {
		return made.Artifact
	}
	return wire.Artifact{ArtifactID: v.answerID(), Name: answerName}
}

// noteArtifact notes the artifact of an A2A agent that an event has. at is the state with the message of a step. It returns
// the artifact of a step, or nil.
func (v *view) noteArtifact(ev *mapping.Event, at *state.Fold) *wire.LoggedArtifact {
	var a wire.LoggedArtifact
	if ev.Head.Native == nil || answerReader.Read(wire.V1, ev.Head.Native, &a) != nil {
		return nil
	}
	if ev.Kind == mapping.KindDelta {
		if parts := rawjson.ElementsOf(ev.Data); len(parts) > 0 {
			v.from[rawjson.GetText(parts[0], "id")] = a
		}
		return nil
	}
	if a.Message != "" {
		v.from[a.Message] = a
	}
	if a.TextIn && at != nil {
		i := slices.IndexFunc(a.Artifact.Parts, func(p wire.Part) bool { return p.Kind == wire.PartText })
		for _, m := range slices.Backward(at.Messages()) {
			if i >= 0 && state.IDOfMessage(m) == a.Message {
				a.Artifact.Parts[i].Text = rule.MessageText(m)
				break
			}
		}
	}
	i := slices.IndexFunc(v.made, func(m wire.LoggedArtifact) bool { return m.Artifact.ArtifactID == a.Artifact.ArtifactID })
	if i < 0 {
		i, v.made = len(v.made), append(v.made, a)
	}
	v.made[i] = a
	return &v.made[i]
}

// madeUpdates returns the updates for a whole artifact of an A2A agent.
func (v *view) madeUpdates(a *wire.LoggedArtifact) []*wire.StreamResponse {
	v.turnTo(a.Message)
	v.whole, v.room, v.shows[a.Artifact.ArtifactID] = true, maxFiles, a.Message
	return v.wholeUpdates(nil, a.Artifact, v.madeParts(a))
}

// hasFile reports whether a file belongs to an artifact that an A2A agent created.
func (v *view) hasFile(id string) bool {
	return slices.ContainsFunc(v.made, func(m wire.LoggedArtifact) bool {
		for i := range m.Files {
			if i < len(m.Artifact.Parts) && m.Artifact.Parts[i].URL == id {
				return true
			}
		}
		return false
	})
}

// madeParts returns the parts of an artifact of an A2A agent. A file that cannot be shown is named.
func (v *view) madeParts(a *wire.LoggedArtifact) wire.Parts {
	parts := slices.Clone(a.Artifact.Parts)
	for i := range parts {
		p := &parts[i]
		sum, isFile := a.Files[i]
		if !isFile {
			continue
		}
		file, ok := wire.Part{}, false
		if v.open != nil {
			file, ok = v.open(p.URL, sum, v.room)
		}
		if !ok {
			*p = wire.TextPart("[" + cmp.Or(p.Filename, a.Artifact.Name, a.Artifact.ArtifactID) + "]")
			continue
		}
		v.room -= int64(len(file.Raw))
		p.Kind, p.URL, p.Raw = file.Kind, file.URL, file.Raw
	}
	return parts
}

func (v *view) fileUpdate(id string) *wire.StreamResponse {
	a, ok := v.file(id)
	if !ok {
		return nil
	}
	return &wire.StreamResponse{ArtifactUpdate: &wire.TaskArtifactUpdateEvent{TaskID: v.taskID, ContextID: v.contextID, Artifact: a, LastChunk: true}}
}

// task returns the task at the newest event, without files that are not part of an A2A agent's artifact.
func (v *view) task() *wire.Task {
	t := &wire.Task{ID: v.taskID, ContextID: v.contextID, Status: v.status}
	v.room = maxFiles
	shown := map[string]bool{}
	show := func(a wire.Artifact, message string, parts wire.Parts) {
		shown[message] = true
		a.Parts = parts
		i := slices.IndexFunc(t.Artifacts, func(other wire.Artifact) bool { return other.ArtifactID == a.ArtifactID })
		switch {
		case len(parts) == 0:
		case i < 0:
			t.Artifacts = append(t.Artifacts, a)
		default:
			t.Artifacts[i] = a
		}
	}
	for i := range v.made {
		show(v.made[i].Artifact, v.made[i].Message, v.madeParts(&v.made[i]))
	}
	for _, id := range slices.Sorted(maps.Keys(v.begun)) {
		if a := v.shownAs(id); v.begun[id] != "" && v.shows[a.ArtifactID] == id {
			show(a, "", wire.Parts{wire.TextPart(v.begun[id])})
		}
	}
	m := v.newest()
	id := state.IDOfMessage(m)
	_, made := v.from[id]
	switch {
	case v.text.Len() > 0 && !v.whole:
		show(v.shownAs(v.message), "", wire.Parts{wire.TextPart(v.text.String())})
	case made:
	case m != nil:
		show(v.shownAs(id), id, v.partsOf(m))
	case t.Status.State == wire.StateCompleted && len(v.made) == 0:
		show(v.shownAs(""), "", v.output())
	}
	t.History = v.history(shown)
	return t
}

// output returns the state of an agent without messages as the answer.
func (v *view) output() wire.Parts {
	if v.after == nil || v.after.Get(state.KeyMessages) != nil {
		return nil
	}
	values, err := rawjson.Without(v.after.JSON(), state.KeyFiles)
	if err != nil || string(values) == "{}" {
		return nil
	}
	return wire.Parts{wire.DataPart(values)}
}

// history returns the messages of the task in order, except those that are shown as artifacts and an open question, which
// is in the status: clients would show them twice.
func (v *view) history(shown map[string]bool) (list []wire.Message) {
	var messages []json.RawMessage
	if v.after != nil {
		messages = v.after.Messages()
	}
	answers := v.answers
	open := v.status.State == wire.StateInputRequired
	listed := map[string]bool{}
	add := func(m wire.Message) {
		if len(m.Parts) > 0 && !listed[m.MessageID] {
			listed[m.MessageID] = true
			list = append(list, m)
		}
	}
	for i, m := range messages {
		for len(answers) > 0 && answers[0].at <= i {
			add(answers[0].message)
			answers = answers[1:]
		}
		id := state.IDOfMessage(m)
		if v.before.has(i, id) || id != "" && shown[id] || open && !v.runBefore.has(i, id) && says(m) && asks(rule.MessageText(m), v.asked) {
			continue
		}
		switch kind := rawjson.GetText(m, "type"); {
		case kind == typeHuman:
			parts := v.partsOf(m)
			if len(parts) == 0 {
				parts = wire.Parts{wire.TextPart("")} // a message needs a part
			}
			add(wire.Message{MessageID: id, Role: wire.RoleUser, TaskID: v.taskID, ContextID: v.contextID, Parts: parts})
		case kind == typeAI && says(m):
			add(wire.Message{MessageID: id, Role: wire.RoleAgent, TaskID: v.taskID, ContextID: v.contextID, Parts: v.partsOf(m)})
		}
	}
	for _, a := range answers {
		add(a.message)
	}
	return list
}

// newestOf returns the newest n messages of a history (S 3.2.4). nil is all of them, 0 none.
func newestOf(history []wire.Message, n *int) []wire.Message {
	if n == nil || *n >= len(history) {
		return history
	}
	if *n <= 0 {
		return nil
	}
	return history[len(history)-*n:]
}

// older reports whether a frame is at or before a position.
func older(seq int64, k int, at position) bool {
	return seq < at.seq || seq == at.seq && (at.k < 0 || k <= at.k)
}

// position is the place of a frame: the number of its event and its own number within it. k is -1 after the whole event.
type position struct {
	seq int64
	k   int
}
