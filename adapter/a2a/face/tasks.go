package face

import (
	"context"
	"encoding/base64"
	"io"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/a2a/wire"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/mapping/state"
	"go.uber.org/zap"
)

// findTask returns a task of the call's agent.
func (s *server) findTask(c *call, id string) (mapping.Task, error) {
	if !storable(id) {
		return mapping.Task{}, taskNotFound(id)
	}
	mapping.AddAuditObject(c.r.Context(), "task", id)
	t, err := s.svc.GetTask(c.r.Context(), c.ref(id))
	if err != nil && mapping.Classify(err).Class == mapping.NotFound {
		return t, taskNotFound(id)
	}
	return t, err
}

// contextOf returns the context of a task: the name that a client gave to its thread, or the thread's id.
func contextOf(t *mapping.Task) string {
	if t.ThreadName != "" {
		return t.ThreadName
	}
	return t.ThreadID
}

// requestedTask decodes the parameters of an operation into into and returns its task. tenant and id point to members of
// into.
func (s *server) requestedTask(c *call, into any, tenant, id *string) (mapping.Task, error) {
	if err := c.params(into, tenant); err != nil {
		return mapping.Task{}, err
	}
	return s.findTask(c, *id)
}

func (s *server) getTask(c *call) (any, error) {
	var q wire.GetTaskRequest
	t, err := s.requestedTask(c, &q, &q.Tenant, &q.ID)
	if err != nil {
		return nil, err
	}
	return s.fullTask(c, &t, q.HistoryLength)
}

// fullTask returns a task with its history and all artifacts.
func (s *server) fullTask(c *call, t *mapping.Task, history *int) (wire.Task, error) {
	v, err := s.read(c, t)
	if err != nil {
		return wire.Task{}, err
	}
	waits := v.status.State == wire.StateAuthRequired && t.Status == mapping.TaskWorking
	if want := states[t.Status]; v.status.State != want && !waits { // a run that has just begun or ended, or a task without runs
		v.status = wire.TaskStatus{State: want}
	}
	if !t.StatusAt.IsZero() && !waits {
		v.status.Timestamp = t.StatusAt
	}
	task := v.task()
	if len(v.runs) == 0 && t.HasInput && t.Input != "" {
		task.History = []wire.Message{{MessageID: mapping.MessageID(t.ID, "input"), Role: wire.RoleUser, TaskID: t.ID, ContextID: v.contextID, Parts: wire.Parts{wire.TextPart(t.Input)}}}
	}
	task.History = newestOf(task.History, history)
	task.Artifacts = append(task.Artifacts, s.files(c, t, v.view)...)
	return *task, nil
}

// reading is a view of a task with its runs, oldest first.
type reading struct {
	*view
	runs []mapping.Run
}

// runsOf returns the runs of a task, oldest first.
func (s *server) runsOf(ctx context.Context, t *mapping.Task) ([]mapping.Run, error) {
	return adapter.All(s.svc.ListRuns(ctx, mapping.RunQuery{ThreadID: t.ThreadID, TaskID: t.ID, OldestFirst: true}))
}

// read folds the events of a task up to now. It does not wait for more.
func (s *server) read(c *call, t *mapping.Task) (reading, error) {
	ctx := c.r.Context()
	runs, err := s.runsOf(ctx, t)
	v := reading{s.newView(c, t), runs}
	if err != nil {
		return v, err
	}
	for i := range runs {
		read := s.readRun
		if !runs[i].Status.Active() {
			read = s.readEnd
		}
		if err := read(ctx, v.view, &runs[i]); err != nil {
			return v, err
		}
	}
	return v, nil
}

// readEnd folds the end of a run that has ended. With the message that answered a question, it has everything that a task
// shows. So the tokens of the run, which may be many, are not read.
func (s *server) readEnd(ctx context.Context, v *view, r *mapping.Run) error {
	v.begin(r)
	before, err := s.stateBefore(ctx, r)
	if err != nil {
		return err
	}
	v.base(before)
	if !r.StartedAt.IsZero() {
		v.answered(r, before)
	}
	var made []*state.Entry
	for e, err := range s.svc.RunEvents(ctx, runRef(r), adapter.Cursor{K: -1, Start: true, End: true, Native: true}, nil) {
		if err != nil {
			return err
		}
		if e.Kind != mapping.KindEnd {
			made = append(made, e)
			continue
		}
		v.addEnd(r, made, e)
	}
	return nil
}

// stateBefore returns the state at which a run began, nil for an empty one.
func (s *server) stateBefore(ctx context.Context, r *mapping.Run) (*state.Fold, error) {
	if r.Base == "" {
		return nil, nil
	}
	st, err := s.svc.GetState(ctx, r.ThreadID, r.Base)
	if err != nil && mapping.Classify(err).Class == mapping.NotFound {
		return nil, nil // retention has removed it
	}
	if err != nil {
		return nil, err
	}
	return state.NewFold(st.Values)
}

func runRef(r *mapping.Run) adapter.RunRef { return adapter.RunRef{ThreadID: r.ThreadID, RunID: r.ID} }

// readRun folds the events of a run up to now.
func (s *server) readRun(ctx context.Context, v *view, r *mapping.Run) error {
	v.begin(r)
	open := v.open
	v.open = nil // nobody sees the updates
	defer func() { v.open = open }()
	now, stop := context.WithCancel(ctx)
	defer stop()
	idle := false
	for e, err := range s.svc.RunEvents(now, runRef(r), adapter.Cursor{K: -1, Start: true}, func() { idle = true; stop() }) {
		if err != nil {
			if idle && ctx.Err() == nil {
				return nil
			}
			return err
		}
		v.add(r, e)
	}
	return ctx.Err()
}

// The amount of bytes of files in one task. Clients refuse frames of more than 4 MiB.
const maxFiles = 2 << 20

// listed is the number of files that a task shows.
const listed = 1000

// files returns the files that the agent created for a task, except those that belong to artifacts of an A2A agent. v is the
// view of the task.
func (s *server) files(c *call, t *mapping.Task, v *view) (list []wire.Artifact) {
	for i := range t.Artifacts {
		a := &t.Artifacts[i]
		if !a.AgentCreated || a.Brought || a.TaskID != t.ID && !changedBy(t, a) || len(list) == listed || v.hasFile(a.ID) {
			continue
		}
		f, ok := s.fileArtifact(c, t, a, v.room)
		if ok {
			v.room -= int64(len(f.Parts[0].Raw))
			list = append(list, f)
		}
	}
	return list
}

// changedBy reports whether a file was changed while the task was at work.
func changedBy(t *mapping.Task, a *mapping.Artifact) bool {
	return !a.ModifiedAt.Before(t.CreatedAt) && (!t.Status.Ended() || !a.ModifiedAt.After(t.StatusAt))
}

// fileArtifact returns a file as an artifact: its bytes if there is room for them, otherwise a link. It returns false if
// the file cannot be read, since the rest of the task is still useful. The log has the reason.
func (s *server) fileArtifact(c *call, t *mapping.Task, a *mapping.Artifact, room int64) (wire.Artifact, bool) {
	p := wire.Part{Filename: path.Base(a.Path), MediaType: a.MIMEType}
	if p.MediaType == "" {
		p.MediaType = mediaBytes
	}
	out := wire.Artifact{ArtifactID: a.ID, Name: a.Path}
	if a.Size > min(int64(s.cfg.MaxInline), room) {
		at := ""
		if s.face.ArtifactPath != nil {
			at = s.face.ArtifactPath(t.Agent, t.ID, a.ID)
		}
		p.Kind, p.URL = wire.PartURL, s.baseURL(c)+at
		out.Parts = wire.Parts{p}
		return out, at != ""
	}
	_, file, err := s.svc.OpenArtifact(c.r.Context(), c.ref(t.ID), a.ID)
	if err == nil {
		defer file.Close()
		p.Kind = wire.PartRaw
		p.Raw, err = io.ReadAll(io.LimitReader(file, room+1))
	}
	if err != nil {
		if c.r.Context().Err() == nil && mapping.Classify(err).Class != mapping.NotFound {
			s.log.Warn("file left out of task", zap.String("task", t.ID), zap.String("artifact", a.ID), zap.Error(err))
		}
		return out, false
	}
	out.Parts = wire.Parts{p}
	return out, true
}

// fileOf returns the function by which a view finds the files of a task.
func (s *server) fileOf(c *call, t *mapping.Task) func(id string) (wire.Artifact, bool) {
	return func(id string) (wire.Artifact, bool) {
		a, err := s.svc.GetArtifact(c.r.Context(), c.ref(t.ID), id)
		if err != nil || !a.AgentCreated || a.Brought {
			return wire.Artifact{}, false
		}
		return s.fileArtifact(c, t, &a, maxFiles)
	}
}

// newView returns a view of a task for a client.
func (s *server) newView(c *call, t *mapping.Task) *view {
	v := newView(t.ID, contextOf(t), int64(s.cfg.MaxInline))
	v.link = s.linkOf(c, t)
	v.open = func(id, sum string, room int64) (wire.Part, bool) {
		a, err := s.svc.GetArtifact(c.r.Context(), c.ref(t.ID), id)
		if err != nil || a.Sum != sum {
			return wire.Part{}, false
		}
		f, ok := s.fileArtifact(c, t, &a, room)
		if !ok {
			return wire.Part{}, false
		}
		return f.Parts[0], true
	}
	return v
}

// linkOf returns the URLs of files in the messages of a task. They are artifacts of its thread, unless the agent has a
// state of its own.
func (s *server) linkOf(c *call, t *mapping.Task) linker {
	var ids map[string]string // by checksum
	return func(a rule.Attachment) string {
		sum, _, err := a.Sum()
		if err != nil || s.face.ArtifactPath == nil {
			return ""
		}
		if ids[sum] == "" { // unread, or written since
			known, err := s.svc.GetTask(c.r.Context(), c.ref(t.ID))
			if err != nil {
				return ""
			}
			ids = map[string]string{}
			for _, f := range known.Artifacts {
				ids[f.Sum] = f.ID
			}
		}
		if ids[sum] == "" {
			return ""
		}
		return s.baseURL(c) + s.face.ArtifactPath(t.Agent, t.ID, ids[sum])
	}
}

// baseURL returns where the client found the bridge.
func (s *server) baseURL(c *call) string {
	if s.face.URL != nil {
		return s.face.URL(c.r)
	}
	return "http://" + c.r.Host
}

// usualPage is the size of a page for which the client names none (S 3.1.4).
const usualPage = 50

// listTasks serves the operation ListTasks.
func (s *server) listTasks(c *call) error {
	var q wire.ListTasksRequest
	if err := c.params(&q, &q.Tenant); err != nil {
		return err
	}
	page := &pageWriter{c: c}
	list, err := s.writeTasks(c, &q, page)
	if err == nil {
		err = page.end(list)
	}
	if err != nil {
		return s.breakOff(page, err)
	}
	return nil
}

// writeTasks writes the tasks of a page. It returns the other members of the response.
func (s *server) writeTasks(c *call, q *wire.ListTasksRequest, page *pageWriter) (list wire.ListTasksResponse, err error) {
	find := adapter.TaskQuery{Agent: c.agent.Graph, ThreadName: q.ContextID, Since: q.StatusTimestampAfter, Limit: usualPage}
	if q.PageSize != nil {
		find.Limit = *q.PageSize
	}
	list.PageSize = find.Limit
	if q.Status != "" {
		if find.Status = statusesOf(q.Status); find.Status == nil { // tasks here never have the state
			return list, nil
		}
	}
	if find.After, err = parsePage(q.PageToken); err != nil {
		return list, err
	}
	find.Limit++ // one more, to know whether there is a next page
	tasks, total, err := s.svc.SearchTasks(c.r.Context(), find)
	if err != nil {
		return list, err
	}
	list.TotalSize = total
	var last mapping.Task
	for t, err := range tasks {
		if err != nil {
			return list, err
		}
		if page.tasks == list.PageSize {
			list.NextPageToken = pageToken(&last)
			break
		}
		last = t
		if q.IncludeArtifacts {
			if t, err = s.svc.GetTask(c.r.Context(), c.ref(t.ID)); err != nil {
				if mapping.Classify(err).Class == mapping.NotFound {
					continue // deleted
				}
				return list, err
			}
		}
		task, err := s.fullTask(c, &t, q.HistoryLength)
		if err != nil {
			return list, err
		}
		if !q.IncludeArtifacts {
			task.Artifacts = nil
		}
		if err := page.add(&task); err != nil {
			return list, err
		}
	}
	return list, nil
}

// statusesOf returns the statuses with a state.
func statusesOf(want wire.TaskState) (list []mapping.TaskStatus) {
	for _, status := range mapping.TaskStatuses() {
		if states[status] == want {
			list = append(list, status)
		}
	}
	return list
}

// pageToken returns the position after a task in a list.
func pageToken(t *mapping.Task) string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(t.StatusAt.UnixMicro(), 10) + " " + t.ID))
}

func parsePage(token string) (mapping.TaskMark, error) {
	if token == "" {
		return mapping.TaskMark{}, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(token)
	at, id, ok := strings.Cut(string(raw), " ")
	us, numErr := strconv.ParseInt(at, 10, 64)
	if err != nil || numErr != nil || !ok || id == "" || !storable(id) {
		return mapping.TaskMark{}, invalidParams("pageToken", "must be the nextPageToken of an earlier page")
	}
	return mapping.TaskMark{StatusAt: time.UnixMicro(us).UTC(), ID: id}, nil
}

func (s *server) cancelTask(c *call) (any, error) {
	var q wire.CancelTaskRequest
	t, err := s.requestedTask(c, &q, &q.Tenant, &q.ID)
	if err != nil {
		return nil, err
	}
	if !t.Status.Ended() {
		if _, err = s.svc.CancelTask(c.r.Context(), c.ref(t.ID)); err != nil {
			return nil, err
		}
		if t, err = s.findTask(c, q.ID); err != nil {
			return nil, err
		}
	}
	if t.Status.Ended() && t.Status != mapping.TaskCancelled { // repeating a cancellation is not an error (S 3.3.1)
		return nil, &wire.Error{
			Code: wire.CodeTaskNotCancelable, Message: "The task has already ended.", Metadata: map[string]string{"taskId": t.ID, "state": string(states[t.Status])},
		}
	}
	return s.fullTask(c, &t, nil)
}
