package backend

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/apbridge/apbridge/adapter/a2a/wire"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/mapping/state"
	"go.uber.org/zap"
)

// output turns the state of a task into steps. It yields each step once, whether the agent reports its content in
// updates, in a snapshot of the task, or in both.
type output struct {
	r         *run
	logged    []string // ids of the steps that were yielded or are logged, of the whole task
	here      int      // steps yielded by this call
	artifacts []*artifact
	state     wire.TaskState
	at        time.Time     // of the newest status
	final     *wire.Message // of the newest status, or the message that is the whole response
	said      *wire.Message // the newest message of the task outside of a status
	direct    bool          // final is the whole response, and there is no task
	held      *step         // the newest complete step, for longestHold: the next event shows whether it is the last one
	newest    *step         // the newest complete step, held or not
	texts     bool          // an artifact of this run has text
	over      *mapping.Outcome
	tokens    tokenStream
	reported  reported // the newest status that has been yielded
	resumed   bool     // a later stream is read, in which the agent may repeat or omit pieces
}

// artifact is an artifact of the agent, as far as it was received.
type artifact struct {
	wire.Artifact
	complete   bool
	gap        bool // pieces may be missing
	unverified bool // pieces may be missing or repeated; the task has the correct ones at its end
	changed    bool // since it was last delivered

	// Streamed pieces are joined in text, so that the cost of each does not grow with the text.
	text     strings.Builder // of Parts, as textOf returns it with nothing between texts
	from     int             // where the last part begins in text, if it is a text
	versions int             // number of times that the artifact was replaced
}

// reported identifies a status that an agent reported while it works.
type reported struct {
	state         wire.TaskState
	message, text string
}

// step is a step that was not yielded yet.
type step struct {
	id, name  string
	since     time.Time // when it was complete
	source    string    // the source of its text; see tokenStream
	streamed  string    // id of the message whose tokens have its text
	parts     wire.Parts
	between   string         // between texts: see textOf
	artifact  *wire.Artifact // that the step is; nil for a message
	interrupt []mapping.Interrupt
}

func newOutput(r *run) output { return output{r: r, tokens: newTokenStream(r)} }

func (o *output) noteLogged(ids ...string) {
	for _, id := range ids {
		if !o.isLogged(id) {
			o.logged = append(o.logged, id)
		}
	}
}

func (o *output) isLogged(id string) bool { return id != "" && slices.Contains(o.logged, id) }

// ids returns the ids of all steps of the task that were yielded.
func (o *output) ids() []string { return slices.Clone(o.logged) }

// replay records a logged event of this run. After a last step or a question only the end follows, which is not logged.
func (o *output) replay(ev mapping.Event) {
	o.tokens.replay(&ev)
	if ev.Kind == mapping.KindCustom && ev.Head.Name == wire.StatusUpdateName {
		var u wire.TaskStatusUpdateEvent
		if o.r.reader.Read(wire.V1, ev.Data, &u) == nil {
			o.reported = reportOf(&u.Status)
		}
	}
	switch {
	case ev.Head.Step == nil:
	case ev.Head.Step.SaysLast:
		o.over = &mapping.Outcome{Status: mapping.RunSuccess}
	case ev.Asks():
		o.over = &mapping.Outcome{Status: mapping.RunInterrupted, Interrupts: ev.Head.Interrupts}
	}
}

// settled reports whether the run ends in the present state.
func (o *output) settled() bool {
	return o.direct || o.state.Terminal() || o.state == wire.StateInputRequired
}

// snapshot notes the whole task.
func (o *output) snapshot(t *wire.Task) {
	for i := range t.Artifacts {
		a := o.find(cmp.Or(t.Artifacts[i].ArtifactID, placeID(i)))
		a.replace(t.Artifacts[i])
		a.complete, a.gap = o.isLogged(a.key()), false
		a.unverified = o.resumed && !a.complete
	}
	if o.note(&t.Status); o.settled() {
		o.markVerified()
	}
}

// artifact notes an artifact or a part of one (S 4.2.2). One that is sent again replaces the earlier one.
func (o *output) artifact(u *wire.TaskArtifactUpdateEvent) {
	id := u.Artifact.ArtifactID
	if n := len(o.artifacts); id == "" && u.Append && n > 0 {
		id = o.artifacts[n-1].ArtifactID
	} else if id == "" {
		id = placeID(n)
	}
	a := o.find(id)
	if u.Append && o.resumed {
		a.gap, a.unverified = a.gap || a.complete || len(a.Parts) == 0, true
	}
	if u.Append && len(a.Parts) > 0 {
		a.add(u.Artifact.Parts, true)
	} else {
		a.gap = a.gap && u.Append
		a.unverified = a.unverified && u.Append
		a.replace(u.Artifact)
	}
	a.complete = u.LastChunk
}

// streamBroke records that a stream broke. Later streams may not continue an artifact exactly, because some servers lose
// or repeat updates between reading a task and subscribing to it.
func (o *output) streamBroke() {
	o.resumed = true
	for _, a := range o.artifacts {
		if !a.complete {
			a.gap, a.unverified, a.changed = true, true, true
		}
	}
}

// isUnverified reports whether the task must be read again at its end.
func (o *output) isUnverified() bool {
	return slices.ContainsFunc(o.artifacts, func(a *artifact) bool { return a.unverified })
}

// markVerified accepts all artifacts as they are, since no better source exists.
func (o *output) markVerified() {
	for _, a := range o.artifacts {
		a.unverified = false
	}
}

func (a *artifact) replace(with wire.Artifact) {
	with.ArtifactID = a.ArtifactID // which some agents omit
	a.Artifact, a.Parts = with, nil
	a.text.Reset()
	a.versions++
	a.add(with.Parts, false)
}

// add adds parts. With join, texts continue the last part if that is a text.
func (a *artifact) add(parts wire.Parts, join bool) {
	a.changed = true
	for _, p := range parts {
		if n := len(a.Parts); join && n > 0 && p.Kind == wire.PartText && a.Parts[n-1].Kind == wire.PartText {
			a.text.WriteString(p.Text)
			a.Parts[n-1].Text = a.text.String()[a.from:]
			continue
		}
		writeText(&a.text, p, "", a.Parts)
		a.from = a.text.Len() - len(p.Text)
		a.Parts = append(a.Parts, p)
	}
}

// key identifies an artifact with its content, since some agents replace the content of an artifact.
func (a *artifact) key() string {
	sum := sha256.New()
	write := func(s string) { _, _ = io.WriteString(sum, s) }
	for _, p := range a.Parts {
		switch p.Kind {
		case wire.PartText: // streamed pieces and the whole text have the same key
			write(p.Text)
		default:
			write("\x00" + p.Filename + "\x00" + p.URL + "\x00" + string(p.Data) + "\x00" + string(p.Raw))
		}
	}
	return a.ArtifactID + "@" + hex.EncodeToString(sum.Sum(nil)[:8])
}

// find returns the artifact with an id.
func (o *output) find(id string) *artifact {
	for _, a := range o.artifacts {
		if a.ArtifactID == id {
			return a
		}
	}
	a := &artifact{Artifact: wire.Artifact{ArtifactID: id}}
	o.artifacts = append(o.artifacts, a)
	return a
}

// placeID returns an id for an artifact that has none. Ids are required, but some agents omit them. n is the artifact's
// index in the task, from 0.
func placeID(n int) string { return fmt.Sprintf("artifact-%d", n+1) }

// message records a message. If it belongs to a task that the agent has already shown, it is treated as a status message.
// Otherwise it is the whole response.
func (o *output) message(m *wire.Message) error {
	if m.TaskID == "" || o.state == "" && len(o.artifacts) == 0 {
		o.final, o.direct = m, true
		return nil
	}
	o.said = m
	return o.report(&wire.TaskStatus{State: cmp.Or(o.state, wire.StateWorking), Message: m})
}

// status notes a status, and yields what a working agent reports with it.
func (o *output) status(s *wire.TaskStatus) error {
	o.note(s)
	return o.report(s)
}

// report yields a status message of a working agent, and changes of whether it waits for an authorization.
func (o *output) report(s *wire.TaskStatus) error {
	if s.State != wire.StateWorking && s.State != wire.StateSubmitted && s.State != wire.StateAuthRequired || o.settled() {
		return nil
	}
	now, before := reportOf(s), o.reported
	waits := s.State == wire.StateAuthRequired || before.state == wire.StateAuthRequired
	if now == before || now.message == "" && now.text == "" && !waits {
		return nil
	}
	data, err := wire.Append(nil, wire.V1, &wire.TaskStatusUpdateEvent{TaskID: o.r.task, ContextID: o.r.context, Status: shown(*s)})
	if err != nil {
		return nil //nolint:nilerr // a status that cannot be encoded is omitted
	}
	if err := o.flush(false); err != nil { // keeps the order
		return err
	}
	o.reported = now
	if err := o.tokens.write(growing{source: statusSource(now.message), text: now.text}, true, true); err != nil {
		return err
	}
	head := mapping.Head{Name: wire.StatusUpdateName, Waiting: s.State == wire.StateAuthRequired}
	return o.r.emit(mapping.Event{Kind: mapping.KindCustom, Head: head, Data: data})
}

func reportOf(s *wire.TaskStatus) reported {
	now := reported{state: s.State}
	if m := shown(*s).Message; m != nil {
		now.message = m.MessageID
		now.text, _ = textOf(m.Parts, "\n")
	}
	return now
}

// shown removes the message of a status if it has no parts, which is invalid (S 5.7), or if it repeats the user's.
func shown(s wire.TaskStatus) wire.TaskStatus {
	if s.Message != nil && (len(s.Message.Parts) == 0 || s.Message.Role == wire.RoleUser) {
		s.Message = nil
	}
	return s
}

// note records a status. A terminal one is final: agents have sent others after it. A question that was answered may
// still be shown by the first events after the answer.
func (o *output) note(s *wire.TaskStatus) {
	if o.state.Terminal() || s.State == "" || s.State == wire.StateInputRequired && o.isLogged(questionID(s)) {
		return
	}
	o.state, o.at, o.final = s.State, s.Timestamp, s.Message
}

// deliver yields the artifacts that are complete, and the new text of the others.
func (o *output) deliver() error {
	if o.settled() && o.isUnverified() {
		return nil
	}
	for _, a := range o.artifacts {
		if !a.changed && !o.settled() {
			continue
		}
		if err := o.streamText(a); err != nil {
			return err
		}
		a.changed = false
		if !a.complete && !o.settled() || len(a.Parts) == 0 || a.unverified {
			continue
		}
		if key := a.key(); !o.isLogged(key) {
			made := a.Artifact
			if err := o.push(&step{id: key, name: a.Name, source: artifactSource(a.ArtifactID), parts: a.Parts, artifact: &made}); err != nil {
				return err
			}
		}
	}
	return nil
}

// streamText yields the new text of an incomplete artifact as tokens.
func (o *output) streamText(a *artifact) error {
	if a.gap || !o.tokens.wanted {
		return nil
	}
	return o.tokens.write(growing{artifactSource(a.ArtifactID), a.text.String(), a.versions, &a.Artifact}, !a.complete && !o.settled(), false)
}

// push holds a step, and yields the one before it.
func (o *output) push(s *step) error {
	o.noteLogged(s.id)
	if err := o.flush(false); err != nil {
		return err
	}
	o.held, o.newest, s.since = s, s, time.Now()
	text, _ := textOf(s.parts, s.between)
	for _, source := range []string{s.source, statusSource(o.reported.message)} {
		if s.streamed == "" {
			s.streamed = o.tokens.finish(source, text)
		}
	}
	if slices.ContainsFunc(s.parts, func(p wire.Part) bool { return p.Kind == wire.PartText && p.Text != "" }) {
		o.texts = true
	}
	return nil
}

// finish yields the remaining steps and returns the outcome of the run.
func (o *output) finish() (mapping.Outcome, error) {
	switch {
	case o.state == wire.StateInputRequired && !o.direct:
		return o.ask()
	case o.state == wire.StateFailed, o.state == wire.StateRejected:
		if err := o.flush(false); err != nil {
			return mapping.Outcome{}, err
		}
		return mapping.Outcome{}, o.r.failed(o.state, o.final)
	case o.state == wire.StateCanceled:
		err := o.flush(false)
		return mapping.Outcome{Status: mapping.RunInterrupted, Cancelled: true, Reason: mapping.CancelledUpstream}, err
	}
	m := o.final
	if m == nil || len(m.Parts) == 0 {
		m = o.said
	}
	if m != nil && !o.texts && len(m.Parts) > 0 {
		if id := cmp.Or(m.MessageID, "message"); !o.isLogged(id) {
			if err := o.push(&step{id: id, parts: m.Parts, between: "\n"}); err != nil {
				return mapping.Outcome{}, err
			}
		}
	}
	if o.held == nil { // a step that says that it is the last one
		o.held = &step{id: "end"}
	}
	return mapping.Outcome{Status: mapping.RunSuccess}, o.flush(true)
}

// ask yields the question of a task that needs input, as a step. LangGraph Server's endpoint puts the question into an
// artifact.
func (o *output) ask() (mapping.Outcome, error) {
	q := &step{id: questionID(&wire.TaskStatus{State: o.state, Message: o.final, Timestamp: o.at}), between: "\n"}
	if o.final != nil && len(o.final.Parts) > 0 {
		q.parts = o.final.Parts
	} else if s := o.newest; s != nil {
		q.parts, q.name, q.between = s.parts, s.name, s.between
		if s == o.held { // otherwise the step with the question cannot be taken back
			q.streamed, o.held = s.streamed, nil
		}
	}
	asked := question(q.parts)
	if asked.ID == "" {
		asked.ID, asked.Nameless = mapping.InterruptID(o.r.assigned.Run.ID, o.number()+1), true
	}
	q.interrupt = []mapping.Interrupt{asked}
	if err := o.push(q); err != nil {
		return mapping.Outcome{}, err
	}
	return mapping.Outcome{Status: mapping.RunInterrupted, Interrupts: q.interrupt}, o.flush(false)
}

// questionID identifies a question of the agent. Two questions of a task have different messages.
func questionID(s *wire.TaskStatus) string {
	if s.Message != nil && s.Message.MessageID != "" {
		return s.Message.MessageID
	}
	return "question " + s.Timestamp.String()
}

// question returns a question for the bridge's clients. Its value is the one that the agent sent with the id of its
// question, otherwise the text, or an object with the text and the data.
func question(parts wire.Parts) mapping.Interrupt {
	var q mapping.Interrupt
	text, _ := textOf(parts, "\n")
	var data []json.RawMessage
	for _, p := range parts {
		if p.Kind != wire.PartData {
			continue
		}
		data = append(data, p.Data)
		for _, name := range []string{"interrupt_id", "interruptId"} {
			if id := rawjson.GetText(p.Data, name); id != "" && q.ID == "" {
				q.ID, q.Value = id, rawjson.Get(p.Data, "value")
			}
		}
		if schema := rawjson.Get(p.Data, "response_schema"); rawjson.Kind(schema) == '{' {
			q.Schema = schema
		}
	}
	switch {
	case q.Value != nil && len(data) == 1:
	case len(data) == 0:
		q.Value = rawjson.Quote(text)
	default:
		q.Value = new(rawjson.Writer).Open('{').Key("text").Text(text).Key("data").Array(data).Close('}').Bytes
	}
	return q
}

// number is the number of the newest step that was yielded, among those of the task.
func (o *output) number() int { return o.r.assigned.Done + o.here }

// flush yields the held step.
func (o *output) flush(last bool) error {
	s := o.held
	if o.held = nil; s == nil {
		return nil
	}
	info := mapping.StepInfo{ID: s.id, Name: s.name, Status: "completed", SaysLast: last, StreamedAs: s.streamed}
	text, data := textOf(s.parts, s.between)
	if text != "" {
		info.Output = rawjson.Quote(text)
	}
	if len(data) > 0 {
		info.Additional = new(rawjson.Writer).Open('{').Key("data").Array(data).Close('}').Bytes
		if text == "" {
			info.Output = info.Additional
		}
	}
	saved, err := o.save(s, &info)
	if err != nil {
		return err
	}
	o.here++
	ev := rule.StepUpdate(o.r.assigned.Run.ID, o.r.assigned.TaskID, o.number(), info, o.changed(s, saved), mapping.ApprovalAuto)
	for i := range s.parts {
		if a, ok := saved[i]; ok {
			ev.Head.Artifacts = append(ev.Head.Artifacts, a.ID)
		}
	}
	ev.Head.Native = native(s, &ev, saved)
	if s.interrupt != nil {
		ev.Head.Interrupts = s.interrupt
	}
	return o.r.emit(ev)
}

// textOf returns the text of parts, with a line for each linked file, and their data. The texts are joined by between:
// those of an artifact are pieces of one text, as streamed.
func textOf(parts wire.Parts, between string) (text string, data []json.RawMessage) {
	var all strings.Builder
	for i, p := range parts {
		if p.Kind == wire.PartData {
			data = append(data, p.Data)
		}
		writeText(&all, p, between, parts[:i])
	}
	return all.String(), data
}

// writeText adds the text of a part to the text of those before it: see textOf.
func writeText(all *strings.Builder, p wire.Part, between string, before wire.Parts) {
	text := p.Text
	switch p.Kind {
	case wire.PartText:
		for _, b := range slices.Backward(before) {
			if b.Kind == wire.PartURL {
				between = "\n"
			}
			if b.Kind == wire.PartURL || b.Kind == wire.PartText {
				break
			}
		}
	case wire.PartURL:
		text, between = strings.TrimSpace(p.Filename+" "+p.URL), "\n"
	default:
		return
	}
	if all.Len() > 0 {
		all.WriteString(between)
	}
	all.WriteString(text)
}

// native returns the artifact of a step in its logged form, or nil if the step is a message.
func native(s *step, ev *mapping.Event, saved map[int]mapping.Artifact) json.RawMessage {
	if s.artifact == nil {
		return nil
	}
	out := wire.LoggedArtifact{Artifact: *s.artifact, Files: map[int]string{}}
	parts, texts := wire.Parts{}, 0
	for i, p := range s.parts {
		switch p.Kind {
		case 0: // a part without content
			continue
		case wire.PartText:
			texts++
		case wire.PartRaw:
			if a, ok := saved[i]; ok {
				out.Files[len(parts)] = a.Sum
				p.Kind, p.Raw, p.URL = wire.PartURL, nil, a.ID
			} else {
				p = wire.TextPart("[" + fileName(s, i, p) + "]")
				texts++
			}
		}
		parts = append(parts, p)
	}
	if list, _ := state.MessagesIn(rawjson.Get(ev.Data, state.KeyMessages)); len(list) > 0 {
		said := list[len(list)-1]
		out.Message = state.IDOfMessage(said)
		if i := slices.IndexFunc(parts, func(p wire.Part) bool { return p.Kind == wire.PartText }); texts == 1 && parts[i].Text == rule.MessageText(said) {
			out.TextIn, parts[i].Text = true, ""
		}
	}
	out.Artifact.Parts = parts
	raw, err := wire.Append(nil, wire.V1, &out)
	if err != nil { // without content
		return nil
	}
	return raw
}

// save saves the files of a step in the thread and returns them by the number of their part. A file that cannot be saved
// is named in the step.
func (o *output) save(s *step, info *mapping.StepInfo) (map[int]mapping.Artifact, error) {
	saved := map[int]mapping.Artifact{}
	for i, p := range s.parts {
		if p.Kind != wire.PartRaw {
			continue
		}
		name := fileName(s, i, p)
		a, err := o.saveFile(name, s.id, p)
		switch c := mapping.Classify(err).Class; {
		case err == nil:
			saved[i] = a
		case c == mapping.Invalid || c == mapping.TooLarge:
			info.Skipped = append(info.Skipped, mapping.SkippedFile{Path: o.r.to.Excerpt(name, 120), Remote: s.id, Reason: mapping.Classify(err).Message})
			o.r.log.Warn("agent file skipped", zap.String("run", o.r.assigned.Run.ID), zap.String("file", o.r.to.Excerpt(name, 120)), zap.Error(err))
		default:
			return nil, err
		}
	}
	return saved, nil
}

// changed returns the saved files of a step in the form of the state, or nil if there are none.
func (o *output) changed(s *step, saved map[int]mapping.Artifact) json.RawMessage {
	if len(saved) == 0 {
		return nil
	}
	changed := new(rawjson.Writer).Open('{')
	for i, p := range s.parts {
		if a, ok := saved[i]; ok {
			changed.Name("/"+a.Path).Raw(o.encode(a, p.Raw), "null")
		}
	}
	return changed.Close('}').Bytes
}

func (o *output) saveFile(name, remote string, p wire.Part) (mapping.Artifact, error) {
	if p.BadRaw {
		return mapping.Artifact{}, mapping.Errorf(mapping.Invalid, mapping.CodeInvalid, "The file cannot be read, because it is not base64.")
	}
	at, err := rule.CleanPath(name)
	if err != nil {
		return mapping.Artifact{}, err
	}
	if limit := int64(o.r.up.Limits.Artifact); limit > 0 && int64(len(p.Raw)) > limit {
		return mapping.Artifact{}, mapping.Errorf(mapping.TooLarge, mapping.CodeInvalid, "The file is larger than %d bytes (limits.artifact).", limit)
	}
	return o.r.assigned.Files.Save(o.r.ctx, at, remote, mediaTypeOf(p), bytes.NewReader(p.Raw))
}

// mediaTypeOf returns the media type of a part without its parameters, or "" if it is not one.
func mediaTypeOf(p wire.Part) string {
	kind, _, err := mime.ParseMediaType(p.MediaType)
	if err != nil || !strings.Contains(kind, "/") {
		return ""
	}
	return kind
}

// encode returns a file as the state holds it.
func (o *output) encode(a mapping.Artifact, content []byte) json.RawMessage {
	if int64(len(content)) > int64(o.r.up.Config.Artifacts.MaxInline) {
		return rule.EncodeReference(a, o.r.assigned.Files.Path(a.ID))
	}
	return rule.EncodeFile(a, content, rule.FileStyle(o.r.up.Config.Artifacts.Style))
}

// fileName returns the path of a file: its own name, or that of its artifact with the extension of its media type.
func fileName(s *step, n int, p wire.Part) string {
	if p.Filename != "" {
		return p.Filename
	}
	id, _, _ := strings.Cut(s.id, "@") // of the artifact, without its content
	name := cmp.Or(s.name, id)
	if n > 0 {
		name += "-" + strconv.Itoa(n+1)
	}
	if path.Ext(name) == "" {
		switch list, _ := mime.ExtensionsByType(p.MediaType); {
		case slices.Contains(list, ".txt"): // rather than .asc, which sorts first
			name += ".txt"
		case len(list) > 0:
			name += list[0]
		}
	}
	return strings.ReplaceAll(name, "/", "-")
}
