package face

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
)

// fake is an adapter.Service in memory. Its agent finishes every task in lastStep steps and writes one file in the
// first. Ids and times are counted, so that responses are the same in every run.
type fake struct {
	adapter.Service // nil: methods that are missing here are not called

	lastStep int
	maxFile  int64
	// onStep, if set, replaces the hand-out.
	onStep func(ctx context.Context, r adapter.StepRequest) (adapter.Handout, error)
	// idle makes a stream of steps end when there are no steps to send.
	idle bool
	// onOpen, if set, replaces the bytes of every download.
	onOpen func() io.ReadSeeker

	mu       sync.Mutex
	changed  chan struct{} // closed and replaced at every change
	tasks    []*fakeTask
	writes   int
	confirms int
	ids      int
	keys     []string // idempotency keys seen
}

type fakeTask struct {
	task  mapping.Task
	steps []mapping.Step
	files map[string][]byte // by artifact id
}

func newFake() *fake {
	return &fake{lastStep: 2, maxFile: 1 << 20, changed: make(chan struct{})}
}

func (f *fake) written() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.writes
}

// The following methods need f.mu, unless their comments say otherwise.

func (f *fake) change() {
	f.writes++
	close(f.changed)
	f.changed = make(chan struct{})
}

func (f *fake) nextID() string {
	f.ids++
	return fmt.Sprintf("00000000-0000-4000-8000-%012d", f.ids)
}

func (f *fake) now() time.Time {
	return time.Date(2026, 1, 2, 3, 4, 5, 678_900_000, time.FixedZone("", 3600)).Add(time.Duration(f.ids) * time.Second)
}

func (f *fake) find(ref adapter.TaskRef) (*fakeTask, error) {
	for _, t := range f.tasks {
		if t.task.ID == ref.ID && t.task.Agent == ref.Agent {
			return t, nil
		}
	}
	return nil, mapping.Errorf(mapping.NotFound, mapping.CodeTaskNotFound, "There is no task %q.", ref.ID)
}

func pageSlice[T any](list []T, p adapter.Page) []T {
	from := min((p.Number-1)*p.Size, len(list))
	return list[from:min(from+p.Size, len(list))]
}

func (f *fake) CreateTask(_ context.Context, n adapter.TaskRequest) (mapping.Task, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	t := &fakeTask{files: map[string][]byte{}}
	t.task = mapping.Task{ID: f.nextID(), Agent: n.Agent, AdditionalInput: n.AdditionalInput}
	t.task.ThreadID = t.task.ID
	t.task.CreatedAt, t.task.UpdatedAt = f.now(), f.now()
	if n.Input != nil {
		t.task.Input, t.task.HasInput = *n.Input, true
	}
	f.tasks = append(f.tasks, t)
	f.keys = append(f.keys, n.IdempotencyKey)
	f.change()
	return t.task, nil
}

func (f *fake) GetTask(_ context.Context, ref adapter.TaskRef) (mapping.Task, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	t, err := f.find(ref)
	if err != nil {
		return mapping.Task{}, err
	}
	return t.task, nil
}

func (f *fake) ListTasks(_ context.Context, ref adapter.TaskRef, p adapter.Page) (iter.Seq2[mapping.Task, error], int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []mapping.Task
	for _, t := range f.tasks {
		if t.task.Agent == ref.Agent {
			all = append(all, t.task)
		}
	}
	return adapter.List(pageSlice(all, p)), len(all), nil
}

func (f *fake) ExecuteStep(ctx context.Context, ref adapter.TaskRef, r adapter.StepRequest) (adapter.Handout, error) {
	if f.onStep != nil {
		return f.onStep(ctx, r)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	t, err := f.find(ref)
	if err != nil {
		return adapter.Handout{}, err
	}
	f.keys = append(f.keys, r.IdempotencyKey)
	if n := len(t.steps); n > 0 && t.steps[n-1].IsLast {
		return adapter.Handout{Step: t.steps[n-1]}, nil
	}
	step := f.work(t, r)
	return adapter.Handout{Step: step, Confirm: func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.confirms++
	}}, nil
}

func (f *fake) work(t *fakeTask, r adapter.StepRequest) mapping.Step {
	n := len(t.steps) + 1
	out := fmt.Sprintf("did \"%d\"\n<ok> ü", n)
	step := mapping.Step{
		ID: f.nextID(), TaskID: t.task.ID, N: n, Name: "step", Status: mapping.StepCompleted,
		Input: r.Input, AdditionalInput: r.AdditionalInput, Output: &out,
		IsLast: n == f.lastStep, CreatedAt: f.now(),
	}
	if n == 1 {
		step.Artifacts = []mapping.Artifact{f.keep(t, "src/app.py", []byte("print(1)\n"), true)}
		step.AdditionalOutput = []byte(`{"cost": 1.50}`)
	}
	t.steps = append(t.steps, step)
	f.change()
	return step
}

// keep stores a file. A file with the same path keeps its id.
func (f *fake) keep(t *fakeTask, path string, body []byte, agent bool) mapping.Artifact {
	i := slices.IndexFunc(t.task.Artifacts, func(a mapping.Artifact) bool { return a.Path == path })
	if i < 0 {
		t.task.Artifacts = append(t.task.Artifacts, mapping.Artifact{ID: f.nextID(), TaskID: t.task.ID, Path: path, CreatedAt: f.now()})
		i = len(t.task.Artifacts) - 1
	}
	a := &t.task.Artifacts[i]
	a.Size, a.AgentCreated, a.ModifiedAt = int64(len(body)), agent, f.now()
	a.Sum = fmt.Sprintf("%x", sha256.Sum256(body))
	t.files[a.ID] = body
	return *a
}

func (f *fake) CancelTask(_ context.Context, ref adapter.TaskRef) (mapping.Task, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	t, err := f.find(ref)
	if err != nil {
		return mapping.Task{}, err
	}
	f.change()
	return t.task, nil
}

func (f *fake) ListSteps(_ context.Context, ref adapter.TaskRef, p adapter.Page) ([]mapping.Step, int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	t, err := f.find(ref)
	if err != nil {
		return nil, 0, err
	}
	return slices.Clone(pageSlice(t.steps, p)), len(t.steps), nil
}

func (f *fake) GetStep(_ context.Context, ref adapter.TaskRef, id string) (mapping.Step, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	t, err := f.find(ref)
	if err != nil {
		return mapping.Step{}, err
	}
	for _, s := range t.steps {
		if s.ID == id {
			return s, nil
		}
	}
	return mapping.Step{}, mapping.Errorf(mapping.NotFound, mapping.CodeStepNotFound, "The task has no step %q.", id)
}

var errFakeBroken = errors.New("the disk of the fake is broken")

// FollowSteps fails with an error without a class once a task has no further step and lastStep is negative.
func (f *fake) FollowSteps(ctx context.Context, ref adapter.TaskRef, after int) iter.Seq2[mapping.Step, error] {
	return func(yield func(mapping.Step, error) bool) {
		for n := after; ; {
			f.mu.Lock()
			t, err := f.find(ref)
			changed := f.changed
			var steps []mapping.Step
			if err == nil {
				steps = slices.Clone(t.steps[min(n, len(t.steps)):])
			}
			f.mu.Unlock()
			if err == nil && f.lastStep < 0 && len(steps) == 0 {
				err = errFakeBroken
			}
			if err != nil {
				yield(mapping.Step{}, err)
				return
			}
			for _, s := range steps {
				if n++; !yield(s, nil) || s.IsLast {
					return
				}
			}
			if f.idle || f.lastStep > 0 && n >= f.lastStep {
				return
			}
			select {
			case <-changed:
			case <-ctx.Done():
				yield(mapping.Step{}, ctx.Err())
				return
			}
		}
	}
}

func (f *fake) ListArtifacts(_ context.Context, ref adapter.TaskRef, p adapter.Page) ([]mapping.Artifact, int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	t, err := f.find(ref)
	if err != nil {
		return nil, 0, err
	}
	list := slices.SortedFunc(slices.Values(t.task.Artifacts), func(a, b mapping.Artifact) int { return cmp.Compare(a.Path, b.Path) })
	return pageSlice(list, p), len(list), nil
}

func (f *fake) look(ref adapter.TaskRef, id string) (mapping.Artifact, []byte, error) {
	t, err := f.find(ref)
	if err != nil {
		return mapping.Artifact{}, nil, err
	}
	for _, a := range t.task.Artifacts {
		if a.ID == id {
			return a, t.files[id], nil
		}
	}
	return mapping.Artifact{}, nil, mapping.Errorf(mapping.NotFound, mapping.CodeArtifactNotFound, "The task has no artifact %q.", id)
}

func (f *fake) OpenArtifact(_ context.Context, ref adapter.TaskRef, id string) (mapping.Artifact, io.ReadSeekCloser, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	a, body, err := f.look(ref, id)
	if err != nil {
		return a, nil, err
	}
	if f.onOpen != nil {
		return a, opened{f.onOpen()}, nil
	}
	return a, opened{bytes.NewReader(body)}, nil
}

// opened is a file that needs no closing.
type opened struct{ io.ReadSeeker }

func (opened) Close() error { return nil }

func (f *fake) SaveArtifact(_ context.Context, ref adapter.TaskRef, path, _ string, body io.Reader) (mapping.Artifact, error) {
	b, err := io.ReadAll(io.LimitReader(body, f.maxFile+1))
	if err != nil {
		return mapping.Artifact{}, fmt.Errorf("save: %w", err)
	}
	if int64(len(b)) > f.maxFile {
		return mapping.Artifact{}, mapping.Errorf(mapping.TooLarge, mapping.CodeInvalid, "The file is too large.")
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	t, err := f.find(ref)
	if err != nil {
		return mapping.Artifact{}, err
	}
	f.change()
	return f.keep(t, path, b, false), nil
}

// newTaskFor creates a task without the face. It acquires the lock.
func (f *fake) newTaskFor(agent string) {
	_, _ = f.CreateTask(context.Background(), adapter.TaskRequest{Agent: agent})
}
