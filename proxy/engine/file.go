package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store"
)

// runFiles gives a backend the artifacts of its run's thread.
type runFiles struct {
	x     *execution
	limit int64
	none  bool // the thread was made with this run, which brought no files
}

// List returns every artifact of the thread: an agent that starts a new task
// has none of them.
func (f *runFiles) List(ctx context.Context) ([]mapping.Artifact, error) {
	if f.none {
		return nil, nil
	}
	list, _, err := f.x.e.st.Artifacts(ctx, f.x.run.ThreadID, 0, 0)
	return list, err
}

func (f *runFiles) Open(ctx context.Context, artifactID string) (io.ReadCloser, error) {
	_, body, err := f.x.e.st.OpenArtifact(ctx, f.x.run.ThreadID, artifactID)
	return body, err
}

func (f *runFiles) Save(ctx context.Context, name, remoteID string, body io.Reader) (mapping.Artifact, error) {
	clean, err := mapping.CleanPath(name)
	if err != nil {
		return mapping.Artifact{}, err
	}
	now := f.x.now()
	a := mapping.Artifact{
		ID: mapping.ArtifactID(f.x.run.ThreadID, clean), ThreadID: f.x.run.ThreadID, TaskID: f.x.run.TaskID, Path: clean,
		AgentCreated: true, RemoteID: remoteID, CreatedAt: now, ModifiedAt: now,
	}
	return f.x.e.st.SaveArtifact(ctx, a, body, f.limit, true)
}

// filesOf finds the files that an event changed in the state, writes them as
// artifacts and names them in the event. What a step agent made is there
// already (runFiles.Save).
func (r *recorder) filesOf(ev *mapping.Event, before, after *mapping.Fold) (writes []store.FileWrite, drop, staged []string) {
	switch {
	case ev.Kind == mapping.KindUpdate && ev.Head.Step != nil:
		return nil, nil, ev.Head.Artifacts
	case ev.Kind == mapping.KindUpdate:
		files := mapping.FilesOfDelta(ev.Data, ev.Head.Node)
		if files == nil {
			return nil, nil, nil
		}
		list, _ := mapping.DecodeFiles(files)
		return r.writeFiles(ev, list, true)
	case ev.Kind == mapping.KindInput:
		return r.writeFiles(ev, mapping.ChangedFiles(before, after), false)
	case ev.Kind == mapping.KindState:
		return r.writeFiles(ev, mapping.ChangedFiles(before, after), true)
	}
	return nil, nil, nil
}

func (r *recorder) writeFiles(ev *mapping.Event, list []mapping.File, made bool) (writes []store.FileWrite, drop, staged []string) {
	for _, f := range list {
		switch {
		case f.Reference != "" || mapping.Excluded(f.Path, r.x.agent.Config.Artifacts.Exclude):
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

// fileWrite is fresh unless this run wrote the same bytes under the path, or
// gave them to the agent itself.
func (r *recorder) fileWrite(ev *mapping.Event, f mapping.File, made bool) (store.FileWrite, bool) {
	digest := sha256.Sum256(f.Content)
	sum := hex.EncodeToString(digest[:])
	if r.files[f.Path] == sum {
		return store.FileWrite{}, false
	}
	r.files[f.Path] = sum
	return store.FileWrite{Content: f.Content, Artifact: mapping.Artifact{
		ID: mapping.ArtifactID(r.x.run.ThreadID, f.Path), ThreadID: r.x.run.ThreadID, TaskID: r.x.run.TaskID, Path: f.Path,
		Size: int64(len(f.Content)), Sum: sum, MIMEType: f.MIMEType, AgentCreated: made, CreatedAt: ev.At, ModifiedAt: ev.At,
	}}, true
}

// given notes files that the run's input brought, so that their coming back in
// the agent's state does not make them the agent's.
func (r *recorder) given(files []mapping.File) {
	for _, f := range files {
		digest := sha256.Sum256(f.Content)
		r.files[f.Path] = hex.EncodeToString(digest[:])
	}
}
