package backend

import (
	"cmp"
	"encoding/json"
	"errors"
	"path"
	"strings"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/rule"
)

// path returns the canonical path of the artifact.
func (a remoteArtifact) path() (string, error) {
	rel := strings.TrimPrefix(a.Relative, "file://")
	if rel == "." || rel == "./" {
		rel = ""
	}
	name := a.Name
	if name == "" {
		name = path.Base(rel)
	}
	return rule.ArtifactPath(name, rel)
}

// words returns the agent's name for the file.
func (a remoteArtifact) words() string {
	if a.Relative == "" || strings.HasSuffix(a.Relative, a.Name) {
		return cmp.Or(a.Relative, a.Name)
	}
	return strings.TrimSuffix(a.Relative, "/") + "/" + a.Name
}

// version identifies a state of the file, as far as the agent distinguishes them.
func (a remoteArtifact) version() string { return a.ID + " " + a.Modified }

// downloads copies the agent's files to the thread.
type downloads struct {
	*runState
	files *tracker
}

// collect downloads the files that a step changed. It returns them as an object for the state, with the ids of the
// artifacts that were written. At the end of a run it reads the agent's list and compares it with the thread, because
// agents rewrite files without reporting it.
//
// A file that cannot be downloaded is recorded (see tracker.skipped) and does not fail the run.
func (d *downloads) collect(step *remoteStep, final bool) (files json.RawMessage, ids []string, err error) {
	d.files.told = d.files.told || step.Told
	lists := anyNameless(step.Artifacts)
	if final && !lists {
		if lists, err = d.mayHaveMore(); err != nil {
			return nil, nil, err
		}
	}
	list := step.Artifacts
	if lists {
		if list, err = d.withListed(list, final); err != nil {
			return nil, nil, err
		}
	}
	if len(list) == 0 {
		return nil, nil, nil
	}
	return d.fetchAll(list, final)
}

// mayHaveMore reports whether the agent's list must be read at the end of a run. It need not be read if the agent's
// steps name their files and there is no file that the agent could have rewritten.
func (d *downloads) mayHaveMore() (bool, error) {
	if !d.stepsTell() || len(d.files.missed) > 0 {
		return true, nil
	}
	err := d.files.loadSums(d.runState)
	return len(d.files.sums) > 0, err
}

// withListed completes the artifacts of a step from the agent's list.
func (d *downloads) withListed(list []remoteArtifact, final bool) ([]remoteArtifact, error) {
	all, err := d.listArtifacts()
	if d.ctx.Err() != nil {
		return nil, stopReason(d.ctx)
	}
	delete(d.files.missed, "")
	if err != nil && !errors.Is(err, errNoList) {
		d.skip(mapping.SkippedFile{Reason: "The agent's list of files cannot be read, so files may be missing or older than the agent's."}, err)
	}
	return merge(list, all, final), nil
}

func anyNameless(list []remoteArtifact) bool {
	for _, a := range list {
		if a.Name == "" && a.Relative == "" {
			return true
		}
	}
	return false
}

// merge completes entries that are only ids from the full list. At the end of a run it adds the other files of the
// list.
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
		for _, a := range all {
			a.Listed = true
			merged = append(merged, a)
		}
	}
	return merged
}

// fetchAll downloads the newest entry of each path.
func (d *downloads) fetchAll(list []remoteArtifact, final bool) (json.RawMessage, []string, error) {
	if err := d.files.loadSums(d.runState); err != nil {
		return nil, nil, err
	}
	var changed changes
	for _, entry := range d.newest(list, final) {
		if err := d.takeOver(entry, &changed); err != nil {
			return nil, nil, err
		}
	}
	return changed.object(), changed.ids, nil
}

// takeOver downloads one file and records whether it changed.
func (d *downloads) takeOver(w wanted, changed *changes) error {
	saved, content, err := d.fetch(w)
	if err != nil || saved == nil {
		return err
	}
	changed.ids = append(changed.ids, saved.ID)
	if saved.Sum == "" || d.files.sums[saved.Path] != saved.Sum {
		d.files.sums[saved.Path] = saved.Sum
		changed.add(saved.Path, d.encode(*saved, content))
	}
	return nil
}

// entries holds the agent's entries for one path.
type entries struct {
	step   *remoteArtifact // the last one that the step names
	listed *remoteArtifact // the last one of the task's list
	many   bool            // the list has several artifacts of the path
}

func (e *entries) add(a remoteArtifact) {
	if !a.Listed {
		e.step = &a
		return
	}
	e.many = e.many || e.listed != nil && e.listed.ID != a.ID
	e.listed = &a
}

// wanted is an artifact together with its path.
type wanted struct {
	remoteArtifact
	at      string
	compare bool // the thread may have these bytes already
}

// newest returns the newest entry of each path, without those that need no download.
func (d *downloads) newest(list []remoteArtifact, final bool) []wanted {
	paths, order := map[string]*entries{}, []string{}
	for _, a := range list {
		at, err := a.path()
		if err != nil {
			d.skip(mapping.SkippedFile{Path: d.excerpt(a.words(), 200), Remote: a.ID, Reason: mapping.Classify(err).Message}, err)
			continue
		}
		if rule.Excluded(at, d.up.Config.Artifacts.Exclude) {
			continue
		}
		if paths[at] == nil {
			paths[at], order = &entries{}, append(order, at)
		}
		paths[at].add(a)
	}
	picked := make([]wanted, 0, len(order))
	for _, at := range order {
		if w, ok := d.wants(at, paths[at], final); ok {
			picked = append(picked, w)
		}
	}
	return picked
}

// wants decides whether to download the file at a path. A version that was downloaded before is skipped until the end
// of the run. At the end it is compared with the thread's file, as uploads are, because an agent may rewrite a file
// without reporting it. A file is thus downloaded at most once more, and not at every step.
func (d *downloads) wants(at string, e *entries, final bool) (wanted, bool) {
	a := e.listed
	if a == nil || e.many && d.stepsTell() {
		a = e.step
	}
	if a == nil || a.ID == "" && a.Content == nil {
		return wanted{}, false
	}
	w := wanted{remoteArtifact: *a, at: at}
	upload, got := a.ByAgent != nil && !*a.ByAgent, d.files.got[a.version()]
	_, there := d.files.sums[at]
	switch {
	case !final:
		return w, a.Content != nil || !upload && !got
	case e.step != nil && a.version() == e.step.version() && !upload && !got:
		return w, true // the step names the file as its own
	case e.many && got:
		return w, false // a server that creates an artifact for each write does not rewrite any
	}
	w.compare = there
	return w, !d.files.unsent[at] && (there || !upload)
}

// stepsTell reports whether the agent's steps name every file that they write.
func (d *downloads) stepsTell() bool { return d.files.told && d.site.kind.listsFilesInSteps() }

// changes collects the files object of a delta. ids are the artifacts that were written.
type changes struct {
	out rawjson.Writer
	ids []string
}

func (c *changes) add(p string, v json.RawMessage) {
	if len(c.out.Bytes) == 0 {
		c.out.Open('{')
	}
	c.out.Name("/"+p).Raw(v, "null")
}

// object returns nil if nothing changed.
func (c *changes) object() json.RawMessage {
	if len(c.out.Bytes) == 0 {
		return nil
	}
	return c.out.Close('}').Bytes
}
