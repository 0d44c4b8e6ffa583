package store_test

import (
	"slices"
	"testing"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/apbridge/apbridge/proxy/store/artifact"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// writes makes a run write files; empty content removes one.
func (b *harness) writes(c *store.CreateRunResult, files ...string) {
	b.t.Helper()
	did := update(`{"n":1}`)
	did.Head.Checkpoint.RunID = c.Run.ID
	a := store.Append{ThreadID: c.Run.ThreadID, RunID: c.Run.ID, Fence: c.Claimed.Fence, Events: []mapping.Event{did}}
	for i := 0; i < len(files); i += 2 {
		if files[i+1] == "" {
			a.DropFiles = append(a.DropFiles, files[i])
			continue
		}
		a.Files = append(a.Files, artifact.FileWrite{Content: []byte(files[i+1]), Artifact: mapping.Artifact{Path: files[i], AgentCreated: true}})
	}
	_, _, err := b.Events.Append(b.ctx, a)
	b.ok(err)
}

// kept returns the visible files of a thread.
func (b *harness) kept(thread string) map[string]string {
	b.t.Helper()
	list, _, err := b.Artifacts.List(b.ctx, thread, 0, 0)
	b.ok(err)
	files := map[string]string{}
	for _, a := range list {
		files[a.Path] = b.file(thread, a.ID)
	}
	return files
}

// A deleted run leaves no files. Files that it replaced or removed are restored with their ids, whether a client or a
// run wrote them.
func TestFilesFollowADeletedRun(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b := open(t)
		first := b.create(newThreadRun())
		th := first.Run.ThreadID
		upload := b.save(th, "given", "by a client", false)
		b.writes(first, "a", "a1", "b", "b1", "same", "same")
		b.end(first, mapping.RunSuccess)
		second := b.create(newRun(th, mapping.StrategyReject))
		b.writes(second, "a", "a2", "b", "", "given", "changed", "new", "n2", "same", "same")
		b.writes(second, "a", "a2, again", "b", "b2")
		b.writes(second, "b", "", "c", "c2")
		b.end(second, mapping.RunSuccess)
		third := b.create(newRun(th, mapping.StrategyReject))
		b.writes(third, "a", "a3", "new", "", "same", "other")
		b.end(third, mapping.RunSuccess)
		want := map[string]string{"a": "a3", "given": "changed", "same": "other", "c": "c2"}
		for _, step := range []struct {
			gone *store.CreateRunResult
			then map[string]string
		}{
			{third, map[string]string{"a": "a2, again", "given": "changed", "new": "n2", "same": "same", "c": "c2"}},
			{second, map[string]string{"a": "a1", "b": "b1", "given": "by a client", "same": "same"}},
			{first, map[string]string{"given": "by a client"}},
		} {
			if diff := cmp.Diff(want, b.kept(th)); diff != "" {
				t.Fatalf("files (-want +got):\n%s", diff)
			}
			b.ok(b.Runs.Delete(b.ctx, th, step.gone.Run.ID))
			want = step.then
		}
		if diff := cmp.Diff(want, b.kept(th)); diff != "" {
			t.Fatalf("files (-want +got):\n%s", diff)
		}
		if a, err := b.Artifacts.Get(b.ctx, th, upload.ID); err != nil || a.AgentCreated {
			t.Errorf("upload: %+v, %v", a, err)
		}
	})
}

// If one run removed a file and another recreated it, it is removed again when the other is deleted. The version before
// both comes back only when the run that removed it is deleted.
func TestFilesRemovedBeforeADeletedRunStayRemoved(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b := open(t)
		first := b.create(newThreadRun())
		th := first.Run.ThreadID
		b.writes(first, "a", "a1", "b", "b1")
		b.end(first, mapping.RunSuccess)
		second := b.create(newRun(th, mapping.StrategyReject))
		b.writes(second, "a", "", "b", "")
		b.end(second, mapping.RunSuccess)
		third := b.create(newRun(th, mapping.StrategyReject))
		b.writes(third, "a", "a3", "b", "b3")
		b.end(third, mapping.RunSuccess)
		fourth := b.create(newRun(th, mapping.StrategyReject))
		b.writes(fourth, "a", "a4", "b", "")
		b.end(fourth, mapping.RunSuccess)
		for _, step := range []struct {
			gone *store.CreateRunResult
			then map[string]string
		}{
			{fourth, map[string]string{"a": "a3", "b": "b3"}},
			{third, map[string]string{}},
			{second, map[string]string{"a": "a1", "b": "b1"}},
		} {
			b.ok(b.Runs.Delete(b.ctx, th, step.gone.Run.ID))
			if diff := cmp.Diff(step.then, b.kept(th)); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
		}
	})
}

// pathChange is a change of a path by a run (by number; 0 is a client). Empty content removes the file.
type pathChange struct {
	run           int
	path, content string
}

// filesAfter returns the files after all changes except those of some runs.
func filesAfter(changes []pathChange, without map[int]bool) map[string]string {
	files := map[string]string{}
	for _, d := range changes {
		switch {
		case without[d.run]:
		case d.content == "":
			delete(files, d.path)
		default:
			files[d.path] = d.content
		}
	}
	return files
}

// doDeed appends a change. It ignores a change without effect. A file that a run created and removed itself never
// existed.
func doDeed(changes []pathChange, d pathChange) ([]pathChange, bool) {
	if d.run == 0 && d.content == "" {
		return changes, false // clients only upload
	}
	if d.run > 0 && filesAfter(changes, nil)[d.path] == d.content {
		return changes, false
	}
	last := len(changes) - 1
	for ; d.content == "" && changes[last].path != d.path; last-- {
		continue
	}
	if d.content == "" && changes[last].run == d.run {

		if changes = slices.Delete(slices.Clone(changes), last, last+1); filesAfter(changes, nil)[d.path] == "" {
			return changes, true
		}
	}
	return append(changes, d), true
}

// fileHistory is a sequence of changes by runs 1 to 3 and clients, and the order in which the runs are deleted.
type fileHistory struct {
	changes []pathChange
	gone    []int
}

var fileHistories = rapid.Custom(func(r *rapid.T) fileHistory {
	change := rapid.Custom(func(r *rapid.T) pathChange {
		return pathChange{rapid.IntRange(0, 3).Draw(r, "run"), rapid.SampledFrom([]string{"a", "b"}).Draw(r, "path"), rapid.SampledFrom([]string{"", "x", "y", "z"}).Draw(r, "content")}
	})
	return fileHistory{rapid.SliceOfN(change, 6, 12).Draw(r, "changes"), rapid.Permutation([]int{1, 2, 3}).Draw(r, "gone")}
})

// Whatever concurrent runs and clients do to files, deleting some runs leaves the results of the others.
func TestFilesMatchTheRemainingRuns(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b := open(t)
		for seed := range 20 {
			tale := fileHistories.Example(seed)
			n := newThreadRun()
			n.Run.Options.MayOverlap = true
			runs := []*store.CreateRunResult{b.create(n)}
			th := runs[0].Run.ThreadID
			for range 2 {
				runs = append(runs, b.create(newRun(th, mapping.StrategyConcurrent)))
			}
			var changes []pathChange
			for _, d := range tale.changes {
				var done bool
				if changes, done = doDeed(changes, d); done && d.run == 0 {
					b.save(th, d.path, d.content, false)
				} else if done {
					b.writes(runs[d.run-1], d.path, d.content)
				}
			}
			for _, c := range runs {
				b.end(c, mapping.RunSuccess)
			}
			gone := map[int]bool{}
			for _, run := range tale.gone {
				b.ok(b.Runs.Delete(b.ctx, th, runs[run-1].Run.ID))
				gone[run] = true
				if diff := cmp.Diff(filesAfter(changes, gone), b.kept(th)); diff != "" {
					t.Fatalf("seed %d: %v, deleting %v up to %d (-want +got):\n%s", seed, tale.changes, tale.gone, run, diff)
				}
			}
		}
	})
}

// Files that other runs depend on remain, and a file that a client uploaded since belongs to the client.
func TestFilesNeededByOtherRunsRemain(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b := open(t)
		first := b.create(newThreadRun())
		th := first.Run.ThreadID
		b.writes(first, "a", "a1", "b", "b1", "mine", "m1")
		b.end(first, mapping.RunSuccess)
		second := b.create(newRun(th, mapping.StrategyReject))
		b.writes(second, "a", "a2", "b", "", "mine", "m2")
		b.save(th, "mine", "by a client", false)
		b.end(second, mapping.RunSuccess)
		b.ok(b.Runs.Delete(b.ctx, th, first.Run.ID))
		if diff := cmp.Diff(map[string]string{"a": "a2", "mine": "by a client"}, b.kept(th)); diff != "" {
			t.Errorf("files after deleting the first run (-want +got):\n%s", diff)
		}
		b.ok(b.Runs.Delete(b.ctx, th, second.Run.ID))
		if diff := cmp.Diff(map[string]string{"a": "a1", "b": "b1", "mine": "by a client"}, b.kept(th)); diff != "" {
			t.Errorf("files after deleting the second run (-want +got):\n%s", diff)
		}
	})
}

// After deleting a concurrent run, each path has the content from the other runs.
func TestFilesOfAConcurrentRunAreRemoved(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b := open(t)
		n := newThreadRun()
		n.Run.Options.MayOverlap = true
		first := b.create(n)
		th := first.Run.ThreadID
		second := b.create(newRun(th, mapping.StrategyConcurrent))
		b.writes(first, "x", "x1", "y", "y1")
		b.writes(second, "x", "x2", "z", "z2")
		b.writes(first, "x", "x3")
		b.writes(second, "y", "y2")
		b.end(first, mapping.RunSuccess)
		b.end(second, mapping.RunSuccess)
		b.ok(b.Runs.Delete(b.ctx, th, first.Run.ID))
		if diff := cmp.Diff(map[string]string{"x": "x2", "y": "y2", "z": "z2"}, b.kept(th)); diff != "" {
			t.Errorf("files after deleting the first run (-want +got):\n%s", diff)
		}
	})
}

// Replaced files are dropped with the checkpoints that contain them, not before.
func TestReplacedFilesAreDeletedWithTheirHistory(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b := open(t)
		first := b.create(newThreadRun())
		th := first.Run.ThreadID
		b.writes(first, "a", "a1")
		b.end(first, mapping.RunSuccess)
		second := b.create(newRun(th, mapping.StrategyReject))
		b.writes(second, "a", "a2")
		b.end(second, mapping.RunSuccess)
		_, err := b.Retention.DeleteHistory(b.ctx, th)
		b.ok(err)
		b.ok(b.Runs.Delete(b.ctx, th, second.Run.ID))
		if diff := cmp.Diff(map[string]string{}, b.kept(th)); diff != "" {
			t.Errorf("files (-want +got):\n%s", diff)
		}
	})
}
