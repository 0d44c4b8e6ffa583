package engine

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"maps"
	"slices"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/mapping/state"
	"github.com/apbridge/apbridge/proxy/store/artifact"
	"go.uber.org/zap"
)

// runFiles gives a backend the files its run has: those of the state it stands on, and what clients uploaded. It
// belongs to the execution's goroutine.
type runFiles struct {
	run    *mapping.Run
	agent  *Agent
	rec    *recorder // whose state the run stands on
	from   *sources
	limit  int64
	none   bool              // the thread was made with this run, which brought no files
	goesOn bool              // the agent's task has done steps,
	given  mapping.Uploaded  // with which it was given the uploads up to here
	stated map[string][]byte // artifact id → bytes, where the state has others than the artifact
	held   map[string]bool   // sums of the files within the state's messages; nil: not read yet
}

func (x *execution) runFiles() *runFiles {
	return &runFiles{run: &x.Run, agent: x.agent, rec: x.rec, from: x.works.sources, limit: int64(x.works.settings.Config().Limits.Artifact)}
}

// List returns the artifacts that an agent which starts a new task should be given.
func (f *runFiles) List(ctx context.Context) ([]mapping.Artifact, error) {
	if f.none {
		return nil, nil
	}
	list, _, err := f.from.artifacts.List(ctx, f.run.ThreadID, 0, 0)
	if err != nil {
		return nil, err
	}
	files, _ := rule.ChangedFiles(nil, f.rec.fold) // what is no file there was named when it came
	return f.ofState(list, files), nil
}

// ofState brings the thread's artifacts, of which there is one for each path, to the state the run stands on: artifacts
// also hold what runs made that were rolled back, deleted or left by a fork, and lack what clients wrote into the
// state.
func (f *runFiles) ofState(list []mapping.Artifact, files []rule.File) []mapping.Artifact {
	f.stated = map[string][]byte{}
	in := make(map[string]rule.File, len(files))
	for _, file := range files {
		in[file.Path] = file
	}
	kept := make([]mapping.Artifact, 0, len(list))
	for _, a := range list {
		file, ok := in[a.Path]
		delete(in, a.Path)
		switch {
		case file.Deleted, !ok && a.AgentCreated, !ok && a.Brought && !f.inMessages(a):
		case !ok, file.Reference != "", f.late(a):
			kept = append(kept, a)
		default:
			kept = append(kept, f.asStated(a, file))
		}
	}
	for _, path := range slices.Sorted(maps.Keys(in)) {
		if file := in[path]; !file.Deleted && file.Reference == "" && !rule.Excluded(path, f.agent.Config.Artifacts.Exclude) {
			kept = append(kept, f.asStated(mapping.Artifact{
				ID: rule.ArtifactID(f.run.ThreadID, path), ThreadID: f.run.ThreadID, TaskID: f.run.TaskID, Path: path, MIMEType: file.MIMEType,
			}, file))
		}
	}
	return kept
}

// inMessages reports whether a message of the state holds the bytes of an artifact. A message that was said anew
// without its file holds them no more.
func (f *runFiles) inMessages(a mapping.Artifact) bool {
	if f.held == nil {
		f.held = rule.HeldSums(f.rec.fold.Messages())
	}
	return f.held[a.Sum]
}

// late reports whether an upload came since the agent was last given files: it will be in the state with the step that
// it is given before.
func (f *runFiles) late(a mapping.Artifact) bool {
	return f.goesOn && !a.AgentCreated && !f.given.Has(a)
}

// asStated is the artifact with the bytes that the state has.
func (f *runFiles) asStated(a mapping.Artifact, file rule.File) mapping.Artifact {
	if sum := sumOf(file.Content); a.Sum != sum {
		a.Sum, a.Size = sum, int64(len(file.Content))
		f.stated[a.ID] = file.Content
	}
	return a
}

func (f *runFiles) Open(ctx context.Context, artifactID string) (io.ReadCloser, error) {
	if content, ok := f.stated[artifactID]; ok {
		return io.NopCloser(bytes.NewReader(content)), nil
	}
	_, body, err := f.from.artifacts.Open(ctx, f.run.ThreadID, artifactID)
	return body, err
}

func (f *runFiles) Save(ctx context.Context, name, remoteID string, body io.Reader) (mapping.Artifact, error) {
	clean, err := rule.CleanPath(name)
	if err != nil {
		return mapping.Artifact{}, err
	}
	if err := mapping.CheckRemote(remoteID); err != nil {
		return mapping.Artifact{}, err
	}
	now := f.rec.x.works.now()
	a := mapping.Artifact{
		ID: rule.ArtifactID(f.run.ThreadID, clean), ThreadID: f.run.ThreadID, TaskID: f.run.TaskID, Path: clean,
		AgentCreated: true, RemoteID: remoteID, CreatedAt: now, ModifiedAt: now,
	}
	return f.from.artifacts.Save(ctx, a, body, f.limit, true)
}

// Path returns the path of an artifact's bytes for clients of the run's agent.
func (f *runFiles) Path(artifactID string) string {
	return f.from.paths.ArtifactPath(f.agent.Name, f.run.TaskID, artifactID)
}

// changedFiles are the files that a run brought and made, as far as they became artifacts. It belongs to the
// execution's goroutine.
type changedFiles struct {
	run     *mapping.Run
	exclude []string // agents.*.artifacts.exclude
	zap     *zap.Logger
	files   map[string]string // path → sum, of what this run wrote as artifacts
	odd     map[string]bool   // files that were skipped, and said to be
	brought []rule.File       // those of the messages that the next input event brings
}

// filesOf finds the files that an event changed in the state, writes them as artifacts and names them in the event. The
// files of a step agent are there already (runFiles.Save).
func (c *changedFiles) filesOf(ev *mapping.Event, before, after *state.Fold) (writes []artifact.FileWrite, drop, staged []string) {
	switch {
	case ev.Kind == mapping.KindUpdate && ev.Head.Reduce:
		return nil, nil, ev.Head.Artifacts
	case ev.Kind == mapping.KindUpdate:
		files := rule.FilesOfDelta(ev.Data, ev.Head.Node)
		if files == nil {
			return nil, nil, nil
		}
		list, bad := rule.DecodeFiles(files)
		c.skipped(bad)
		return c.writeFiles(ev, list, true)
	case ev.Kind == mapping.KindInput:
		list, _ := rule.ChangedFiles(before, after) // what a client gave was checked
		list, c.brought = append(list, c.brought...), nil
		return c.writeFiles(ev, list, false)
	case ev.Kind == mapping.KindState:
		list, bad := rule.ChangedFiles(before, after)
		c.skipped(bad)
		return c.writeFiles(ev, list, true)
	}
	return nil, nil, nil
}

// maxOdd bounds what one run may have logged about its files.
const maxOdd = 20

// skipped says once per run which files become no artifacts, as their names or contents cannot be used. They stay in
// the state; the run has not failed.
func (c *changedFiles) skipped(names []string) {
	for _, name := range names {
		if c.odd[name] || len(c.odd) == maxOdd {
			continue
		}
		if c.odd == nil {
			c.odd = map[string]bool{}
		}
		c.odd[name] = true
		c.zap.Warn("a file of the agent was skipped: its name or its content cannot be used",
			agentField(c.run.Agent), zap.String("run", c.run.ID), zap.String("file", name[:min(len(name), 120)]))
	}
}

func (c *changedFiles) writeFiles(ev *mapping.Event, list []rule.File, made bool) (writes []artifact.FileWrite, drop, staged []string) {
	for _, f := range list {
		switch {
		case f.Reference != "" || rule.Excluded(f.Path, c.exclude):
			continue
		case f.Deleted:
			drop = append(drop, f.Path)
			delete(c.files, f.Path)
			continue
		}
		w, fresh := c.fileWrite(ev, f, made)
		if fresh {
			writes = append(writes, w)
			ev.Head.Artifacts = append(ev.Head.Artifacts, w.Artifact.ID)
		}
	}
	return writes, drop, nil
}

// fileWrite is fresh unless this run wrote the same bytes under the path, or gave them to the agent itself.
func (c *changedFiles) fileWrite(ev *mapping.Event, f rule.File, made bool) (artifact.FileWrite, bool) {
	sum := sumOf(f.Content)
	if c.files[f.Path] == sum {
		return artifact.FileWrite{}, false
	}
	c.files[f.Path] = sum
	return artifact.FileWrite{Content: f.Content, Artifact: mapping.Artifact{
		ID: rule.ArtifactID(c.run.ThreadID, f.Path), ThreadID: c.run.ThreadID, TaskID: c.run.TaskID, Path: f.Path,
		Size: int64(len(f.Content)), Sum: sum, MIMEType: f.MIMEType, AgentCreated: made, CreatedAt: ev.At, ModifiedAt: ev.At,
	}}, true
}

// sumOf is how artifacts name their bytes, see mapping.Artifact.Sum.
func sumOf(content []byte) string {
	digest := sha256.Sum256(content)
	return hex.EncodeToString(digest[:])
}

// given notes files that the run's input brought, so that their coming back in the agent's state does not make them the
// agent's.
func (c *changedFiles) given(files []rule.File) {
	for _, f := range files {
		c.files[f.Path] = sumOf(f.Content)
	}
}
