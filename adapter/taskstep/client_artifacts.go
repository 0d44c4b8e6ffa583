package taskstep

import (
	"encoding/json"
	"errors"
	"path"
	"strings"

	"github.com/apbridge/apbridge/mapping"
	"go.uber.org/zap"
)

// tracker knows which files of the thread are where they should be.
type tracker struct {
	sums   map[string]string // by path
	loaded bool
	got    map[string]bool // versions downloaded in this run
	told   bool            // the agent lists files in its steps
}

func (tr *tracker) load(list []mapping.Artifact) {
	tr.sums, tr.loaded = make(map[string]string, len(list)), true
	for _, a := range list {
		tr.sums[a.Path] = a.Sum
	}
}

// path is the canonical path of the artifact.
func (a remoteArtifact) path() (string, error) {
	rel := strings.TrimPrefix(a.Relative, "file://")
	if rel == "." || rel == "./" {
		rel = ""
	}
	name := a.Name
	if name == "" {
		name = path.Base(rel)
	}
	return mapping.ArtifactPath(name, rel)
}

// version tells two states of a file apart, as far as the agent does.
func (a remoteArtifact) version() string { return a.ID + " " + a.Modified }

// collect downloads what a step made. files is the object of changed files
// for the state, ids are the artifacts written. At the end of a run the
// agent's list is asked for, unless its steps were seen to tell.
//
// A file that cannot be had is noted and no failure of the run.
func (d *drive) collect(step remoteStep, final bool) (files json.RawMessage, ids []string, err error) {
	d.files.told = d.files.told || step.Told
	list := step.Artifacts
	if (final && !(d.files.told && d.site.kind.listsFilesInSteps())) || anyNameless(list) {
		all, err := d.listArtifacts()
		if d.ctx.Err() != nil {
			return nil, nil, ended(d.ctx)
		}
		if err != nil {
			d.skipped("list of artifacts", err)
		}
		list = merge(list, all, final)
	}
	if len(list) == 0 {
		return nil, nil, nil
	}
	return d.fetchAll(list)
}

func anyNameless(list []remoteArtifact) bool {
	for _, a := range list {
		if a.Name == "" && a.Relative == "" {
			return true
		}
	}
	return false
}

// merge fills entries that were only ids from the whole list, and at the end
// of a run adds the rest of it.
func merge(list, all []remoteArtifact, final bool) []remoteArtifact {
	byID := make(map[string]remoteArtifact, len(all))
	for _, a := range all {
		byID[a.ID] = a
	}
	merged := make([]remoteArtifact, 0, len(list)+len(all))
	for _, a := range list {
		if full, ok := byID[a.ID]; ok && a.Name == "" && a.Relative == "" {
			yes := true
			full.ByAgent = &yes
			a = full
		}
		merged = append(merged, a)
	}
	if final {
		merged = append(merged, all...)
	}
	return merged
}

// listArtifacts asks for the artifacts of the task; where there is no such
// list, the task itself may hold them.
func (d *drive) listArtifacts() ([]remoteArtifact, error) {
	elems, _, err := d.list(d.taskPath("/artifacts"), "artifacts")
	if err == nil {
		return artifactsOf(elems, "artifacts")
	}
	if !errors.Is(err, errNoList) {
		return nil, err
	}
	ans, err := d.get(d.ctx, d.taskPath(""), "")
	if err != nil {
		return nil, err
	}
	if ans.status/100 != 2 {
		return nil, errNoList
	}
	t, err := parseTask(ans.body, "")
	return t.Artifacts, err
}

// fetchAll takes the newest entry of each path.
func (d *drive) fetchAll(list []remoteArtifact) (json.RawMessage, []string, error) {
	if err := d.loadSums(); err != nil {
		return nil, nil, err
	}
	var changed changes
	var ids []string
	for _, entry := range d.newest(list) {
		saved, content, err := d.fetch(entry)
		if err != nil {
			return nil, nil, err
		}
		if saved == nil {
			continue
		}
		ids = append(ids, saved.ID)
		if saved.Sum == "" || d.files.sums[saved.Path] != saved.Sum {
			d.files.sums[saved.Path] = saved.Sum
			changed.add(saved.Path, d.encode(*saved, content))
		}
	}
	return changed.object(), ids, nil
}

func (d *drive) loadSums() error {
	if d.files.loaded {
		return nil
	}
	list, err := d.task.Files.List(d.ctx)
	if err != nil {
		return err
	}
	d.files.load(list)
	return nil
}

// wanted is an artifact together with its path.
type wanted struct {
	remoteArtifact
	at string
}

// newest drops uploads, versions that were downloaded already, and all but
// the last entry of a path.
func (d *drive) newest(list []remoteArtifact) []wanted {
	last, order := map[string]wanted{}, []string{}
	for _, a := range list {
		at, err := a.path()
		if err != nil {
			d.skipped(a.Name, err)
			continue
		}
		if mapping.Excluded(at, d.up.Config.Artifacts.Exclude) {
			continue
		}
		if _, again := last[at]; !again {
			order = append(order, at)
		}
		last[at] = wanted{a, at}
	}
	picked := make([]wanted, 0, len(order))
	for _, at := range order {
		if w := last[at]; d.wants(w) {
			picked = append(picked, w)
		}
	}
	return picked
}

func (d *drive) wants(w wanted) bool {
	if w.ByAgent != nil && !*w.ByAgent || d.files.got[w.version()] && w.Content == nil {
		return false
	}
	return w.ID != "" || w.Content != nil
}

func (d *drive) encode(a mapping.Artifact, content []byte) json.RawMessage {
	if content == nil {
		return mapping.EncodeReference(a)
	}
	return mapping.EncodeFile(a, content, mapping.FileStyle(d.up.Config.Artifacts.Style))
}

func (d *drive) skipped(what string, err error) {
	d.log.Warn("a file of the agent was skipped", zap.String("agent", d.up.Name), zap.String("run", d.task.Run.ID),
		zap.String("file", clip(what, 120)), zap.String("reason", clip(d.redact(err.Error()), errorText)))
}

// changes builds the files object of a delta.
type changes struct{ buf []byte }

func (c *changes) add(p string, v json.RawMessage) {
	sep := byte(',')
	if c.buf == nil {
		sep = '{'
	}
	c.buf = append(append(append(append(c.buf, sep), quote("/"+p)...), ':'), v...)
}

// object is nil when nothing changed.
func (c *changes) object() json.RawMessage {
	if c.buf == nil {
		return nil
	}
	return append(c.buf, '}')
}
