package backend

import (
	"maps"
	"slices"

	"github.com/apbridge/apbridge/mapping"
)

// tracker records the files that the thread and the agent share.
type tracker struct {
	sums   map[string]string    // checksums of the thread's files by path; nil if not loaded
	unsent map[string]bool      // paths of uploads that were not sent because the agent has other bytes there
	got    map[string]bool      // versions downloaded in this run
	told   bool                 // the agent names files in its steps
	given  mapping.UploadCursor // uploads that the task has but that are not logged yet

	missed map[string]mapping.SkippedFile // files that this run could not download, by path
	fresh  map[string]bool                // those of the step that is being collected
}

// load records the thread's files. given is the position of the uploads that the agent has.
func (tr *tracker) load(list []mapping.Artifact, given mapping.UploadCursor) {
	tr.sums, tr.unsent = make(map[string]string, len(list)), map[string]bool{}
	for _, a := range list {
		tr.sums[a.Path] = a.Sum
		if !a.AgentCreated && !given.Has(a) {
			tr.unsent[a.Path] = true
		}
	}
}

// noteCurrent records that the thread has the agent's newest bytes of a file.
func (tr *tracker) noteCurrent(w wanted) {
	if tr.got == nil {
		tr.got = map[string]bool{}
	}
	if w.ID != "" {
		tr.got[w.version()] = true
	}
	delete(tr.missed, w.at)
}

func (tr *tracker) miss(f mapping.SkippedFile) {
	if tr.missed == nil {
		tr.missed, tr.fresh = map[string]mapping.SkippedFile{}, map[string]bool{}
	}
	tr.missed[f.Path], tr.fresh[f.Path] = f, true
}

// skipped returns the skipped files to name in a step, ordered by path: those that could not be downloaded with it, or
// at the end of a run all those of the run.
func (tr *tracker) skipped(final bool) []mapping.SkippedFile {
	var list []mapping.SkippedFile
	for _, at := range slices.Sorted(maps.Keys(tr.missed)) {
		if final || tr.fresh[at] {
			list = append(list, tr.missed[at])
		}
	}
	clear(tr.fresh)
	return list
}

// loadSums records the checksums of the thread's files, unless they are loaded.
func (tr *tracker) loadSums(j *runState) error {
	if tr.sums != nil {
		return nil
	}
	list, err := j.assigned.Files.List(j.ctx)
	if err != nil {
		return err
	}
	tr.load(list, max(j.assigned.Task.Uploaded, tr.given))
	return nil
}
