package engine

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"maps"
	"slices"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/mapping/state"
	"github.com/apbridge/apbridge/proxy/store/artifact"
	"go.uber.org/zap"
)

// runFiles implements adapter.Files: the files of the state that a run is based on, and those uploaded by clients. Only
// the execution's goroutine uses it.
type runFiles struct {
	x         *execution
	none      bool                 // the thread was created with this run, without files
	continued bool                 // the agent's task has done steps
	given     mapping.UploadCursor // the uploads that the agent received with those steps
	stated    map[string][]byte    // artifact id → content, if it differs from the artifact's
	held      map[string]bool      // checksums of the files in the state's messages; nil if not read yet
}

var _ adapter.Files = (*runFiles)(nil)

// List returns the artifacts for an agent that starts a new task.
func (f *runFiles) List(ctx context.Context) ([]mapping.Artifact, error) {
	if f.none {
		return nil, nil
	}
	list, _, err := f.x.store.Artifacts.List(ctx, f.x.Run.ThreadID, 0, 0)
	if err != nil {
		return nil, err
	}
	files, _ := rule.ChangedFiles(nil, f.x.rec.fold) // invalid files were reported on arrival
	return f.ofState(list, files), nil
}

// ofState returns the thread's artifacts as they are in the state that the run is based on. The store has one artifact
// for each path. It includes files of runs that were rolled back, deleted or abandoned by a fork, and lacks files that
// clients wrote into the state.
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
		if file := in[path]; !file.Deleted && file.Reference == "" && !f.x.agent.excludes(path) {
			kept = append(kept, f.asStated(mapping.Artifact{
				ID: rule.ArtifactID(f.x.Run.ThreadID, path), ThreadID: f.x.Run.ThreadID, TaskID: f.x.Run.TaskID, Path: path, MIMEType: file.MIMEType,
			}, file))
		}
	}
	return kept
}

// inMessages reports whether a message of the state contains the content of an artifact. Messages that were replaced do
// not count.
func (f *runFiles) inMessages(a mapping.Artifact) bool {
	if f.held == nil {
		f.held = rule.HeldSums(f.x.rec.fold.Messages())
	}
	return f.held[a.Sum]
}

// late reports whether an upload came after the agent last received files. It enters the state after the step that
// receives it.
func (f *runFiles) late(a mapping.Artifact) bool {
	return f.continued && !a.AgentCreated && !f.given.Has(a)
}

// asStated returns the artifact with the content from the state.
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
	_, body, err := f.x.store.Artifacts.Open(ctx, f.x.Run.ThreadID, artifactID)
	return body, err
}

func (f *runFiles) Save(ctx context.Context, name, remoteID, mediaType string, body io.Reader) (mapping.Artifact, error) {
	clean, err := rule.CleanPath(name)
	if err != nil {
		return mapping.Artifact{}, err
	}
	if err := mapping.CheckRemote(remoteID); err != nil {
		return mapping.Artifact{}, err
	}
	x := f.x
	now := x.store.Now()
	a := mapping.Artifact{
		ID: rule.ArtifactID(x.Run.ThreadID, clean), ThreadID: x.Run.ThreadID, TaskID: x.Run.TaskID, Path: clean,
		MIMEType: mediaType, AgentCreated: true, RemoteID: remoteID, CreatedAt: now, ModifiedAt: now,
	}
	return x.store.Artifacts.Save(ctx, a, body, int64(x.e.Config().Limits.Artifact), true)
}

// Path returns the path of an artifact's content for clients of the run's agent.
func (f *runFiles) Path(artifactID string) string {
	return f.x.e.ArtifactPath(f.x.agent.Name, f.x.Run.TaskID, artifactID)
}

// changedFiles are the files of a run's input and output that became artifacts.
type changedFiles struct {
	files        map[string]string // path → sum, of the artifacts that this run wrote
	skippedNames map[string]bool   // files that were skipped and logged
	brought      []rule.File       // files in the messages of the next input event
}

// filesOf returns the files that an event changed in the state as artifacts to write, and adds their names to the
// event. The files of a step agent are already artifacts (runFiles.Save).
func (r *recorder) filesOf(ev *mapping.Event, before, after *state.Fold) (writes []artifact.FileWrite, drop, staged []string) {
	switch {
	case ev.Kind == mapping.KindUpdate && ev.Head.Reduce:
		return nil, nil, ev.Head.Artifacts
	case ev.Kind == mapping.KindUpdate:
		files := rule.FilesOfDelta(ev.Data, ev.Head.Node)
		if files == nil {
			return nil, nil, nil
		}
		list, bad := rule.DecodeFiles(files)
		r.logSkipped(bad)
		return r.writeFiles(ev, list, true)
	case ev.Kind == mapping.KindInput:
		list, _ := rule.ChangedFiles(before, after) // files from clients were checked
		list, r.brought = append(list, r.brought...), nil
		return r.writeFiles(ev, list, false)
	case ev.Kind == mapping.KindState:
		list, bad := rule.ChangedFiles(before, after)
		r.logSkipped(bad)
		return r.writeFiles(ev, list, true)
	}
	return nil, nil, nil
}

// maxSkippedLogged limits the log lines about the files of one run.
const maxSkippedLogged = 20

// logSkipped logs, once per file, the files that do not become artifacts because their names or contents cannot be
// used. They remain in the state, and the run does not fail.
func (r *recorder) logSkipped(names []string) {
	for _, name := range names {
		if r.skippedNames[name] || len(r.skippedNames) == maxSkippedLogged {
			continue
		}
		if r.skippedNames == nil {
			r.skippedNames = map[string]bool{}
		}
		r.skippedNames[name] = true
		r.x.e.logger.Warn("agent file skipped; its name or content cannot be used",
			agentField(r.x.Run.Agent), zap.String("run", r.x.Run.ID), zap.String("file", name[:min(len(name), 120)]))
	}
}

func (r *recorder) writeFiles(ev *mapping.Event, list []rule.File, made bool) (writes []artifact.FileWrite, drop, staged []string) {
	for _, f := range list {
		switch {
		case f.Reference != "" || r.x.agent.excludes(f.Path):
			continue
		case f.Deleted:
			drop = append(drop, f.Path)
			delete(r.files, f.Path)
			continue
		}
		w, fresh := r.fileWrite(ev, f, made)
		if fresh {
			writes = append(writes, w)
			ev.Head.Artifacts = append(ev.Head.Artifacts, w.Artifact.ID)
		}
	}
	return writes, drop, nil
}

// fileWrite returns the artifact of a file. It is not fresh if this run has written the same content at the path, or
// passed it to the agent.
func (r *recorder) fileWrite(ev *mapping.Event, f rule.File, made bool) (artifact.FileWrite, bool) {
	sum := sumOf(f.Content)
	if r.files[f.Path] == sum {
		return artifact.FileWrite{}, false
	}
	r.files[f.Path] = sum
	return artifact.FileWrite{Content: f.Content, Artifact: mapping.Artifact{
		ID: rule.ArtifactID(r.x.Run.ThreadID, f.Path), ThreadID: r.x.Run.ThreadID, TaskID: r.x.Run.TaskID, Path: f.Path,
		Size: int64(len(f.Content)), Sum: sum, MIMEType: f.MIMEType, AgentCreated: made, CreatedAt: ev.At, ModifiedAt: ev.At,
	}}, true
}

// sumOf returns the mapping.Artifact.Sum of content.
func sumOf(content []byte) string {
	digest := sha256.Sum256(content)
	return hex.EncodeToString(digest[:])
}

// noteGiven records files of the run's input. If the agent returns them in its state, they do not count as the agent's
// own files.
func (r *recorder) noteGiven(files []rule.File) {
	for _, f := range files {
		r.files[f.Path] = sumOf(f.Content)
	}
}
