package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/apbridge/apbridge/proxy/store/artifact"
	"github.com/apbridge/apbridge/proxy/store/item"
	"github.com/google/go-cmp/cmp"
)

func TestCreateThread(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b := open(t)
		up := update(`{"files":{}}`)
		task := &mapping.Task{ID: id(), Agent: "echo", HasInput: true, AdditionalInput: []byte(`{"a": 1}`)}
		n := store.ThreadCreation{Thread: mapping.Thread{ID: task.ID, Metadata: []byte(`{"k": "v"}`), Expires: time.Now().Add(time.Hour)},
			Events: []mapping.Event{up}, Task: task}
		th, existed, err := b.Threads.Create(b.ctx, n)
		b.ok(err)
		got, err := b.Threads.Get(b.ctx, th.ID)
		b.ok(err)
		if d := cmp.Diff(th, got); d != "" || existed || th.Head != up.Head.Checkpoint.ID || th.Status != mapping.ThreadIdle {
			t.Fatal(d, existed, th)
		}
		k, err := b.Tasks.Get(b.ctx, task.ID)
		b.ok(err)
		if k.ThreadID != th.ID || !k.HasInput || k.Input != "" || string(k.AdditionalInput) != `{"a": 1}` {
			t.Fatalf("got %+v", k)
		}
		n.Task = nil
		_, existed, err = b.Threads.Create(b.ctx, n)
		wantClass(t, err, mapping.Conflict, "thread_exists")
		if !existed {
			t.Fatal("existed is false for an existing thread")
		}
		n.OrGet, n.Thread.Metadata = true, []byte(`{"other":1}`)
		again, existed, err := b.Threads.Create(b.ctx, n)
		b.ok(err)
		if d := cmp.Diff(th, again); d != "" || !existed {
			t.Fatal(d, existed)
		}
	})
}

func TestPatchThread(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b := open(t)
		th := b.thread()
		at := time.Now().Add(time.Hour).UTC().Truncate(time.Microsecond)
		_, err := b.Threads.Patch(b.ctx, th.ID, []byte(`{"a":1,"b":{"c":2}}`), &store.Expire{At: at, After: time.Hour})
		b.ok(err)
		got, err := b.Threads.Patch(b.ctx, th.ID, []byte(`{"b":3}`), nil)
		b.ok(err)
		if string(got.Metadata) != `{"a":1,"b":3}` || !got.Expires.Equal(at) || got.TTL != time.Hour || got.UpdatedAt.Before(th.UpdatedAt) {
			t.Fatalf("got %+v", got)
		}
		_, err = b.Threads.Patch(b.ctx, id(), nil, nil)
		wantClass(t, err, mapping.NotFound, mapping.CodeThreadNotFound)
	})
}

func TestThreadSearch(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b := open(t)
		for i := range 5 {
			_, _, err := b.Threads.Create(b.ctx, store.ThreadCreation{Thread: mapping.Thread{ID: fmt.Sprint("t", i),
				Metadata: fmt.Appendf(nil, `{"even":%t,"n":{"v":%d}}`, i%2 == 0, i)}})
			b.ok(err)
		}
		b.create(newRun("t3", mapping.StrategyReject))
		for name, c := range map[string]struct {
			q     mapping.ThreadQuery
			keep  store.ThreadFilter
			want  []string
			total int
		}{
			"all, newest first":     {mapping.ThreadQuery{}, nil, []string{"t4", "t3", "t2", "t1", "t0"}, 5},
			"page":                  {mapping.ThreadQuery{Limit: 2, Offset: 1}, nil, []string{"t3", "t2"}, 5},
			"metadata":              {mapping.ThreadQuery{Metadata: []byte(`{"even":true}`), Limit: 2}, nil, []string{"t4", "t2"}, 3},
			"nested metadata":       {mapping.ThreadQuery{Metadata: []byte(`{"n":{"v":1}}`)}, nil, []string{"t1"}, 1},
			"status":                {mapping.ThreadQuery{Status: mapping.ThreadBusy}, nil, []string{"t3"}, 1},
			"ids, ascending by id":  {mapping.ThreadQuery{IDs: []string{"t4", "t0", "x"}, SortBy: mapping.SortByID, Asc: true}, nil, []string{"t0", "t4"}, 2},
			"by update":             {mapping.ThreadQuery{SortBy: mapping.SortByUpdated, Limit: 1}, nil, []string{"t3"}, 5},
			"kept by what is asked": {mapping.ThreadQuery{Limit: 1, Offset: 1}, func(th mapping.Thread) (bool, error) { return th.ID > "t2", nil }, []string{"t3"}, 2},
		} {
			list, total, err := b.Threads.Search(b.ctx, c.q, c.keep)
			b.ok(err)
			var got []string
			for th, err := range list {
				b.ok(err)
				got = append(got, th.ID)
			}
			if d := cmp.Diff(c.want, got); d != "" || total != c.total {
				t.Errorf("%s: total %d %s", name, total, d)
			}
		}
		if _, _, err := b.Threads.List(b.ctx, mapping.ThreadQuery{IDs: make([]string, 1001)}); mapping.Classify(err).Class != mapping.Invalid {
			t.Error(err)
		}
	})
}

func TestDeleteThreadRemovesEverything(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b := open(t)
		c := b.create(newThreadRun())
		wantClass(t, b.Threads.Delete(b.ctx, c.Run.ThreadID), mapping.Conflict, mapping.CodeThreadBusy)
		b.push(c, 1, "snap")
		b.end(c, mapping.RunSuccess)
		b.ok(b.Threads.Delete(b.ctx, c.Run.ThreadID))
		_, err := b.Threads.Get(b.ctx, c.Run.ThreadID)
		wantClass(t, err, mapping.NotFound, mapping.CodeThreadNotFound)
		_, err = b.Events.List(b.ctx, c.Run.ThreadID, "", 0, 0)
		wantClass(t, err, mapping.NotFound, mapping.CodeThreadNotFound)
		_, err = b.Runs.Get(b.ctx, "", c.Run.ID)
		wantClass(t, err, mapping.NotFound, mapping.CodeRunNotFound)
		wantClass(t, b.Threads.Delete(b.ctx, c.Run.ThreadID), mapping.NotFound, mapping.CodeThreadNotFound)
		// Keys are reused; the new thread must not show old data.
		next := b.create(newThreadRun())
		if evs, err := b.Events.List(b.ctx, next.Run.ThreadID, "", 0, 0); err != nil || len(evs) != 1 {
			t.Fatal(evs, err)
		}
		n := newThreadRun()
		n.Thread.ID, n.Run.ThreadID = c.Run.ThreadID, c.Run.ThreadID
		if again := b.create(n); again.Claimed.Logged[0].Seq != 1 {
			t.Fatalf("got %+v", again)
		}
	})
}

// E20 for the store: objects of another tenant do not exist.
func TestTenantsDoNotSeeEachOther(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		base := open(t)
		a, b := base.as("a"), base.as("b")
		c := a.create(newThreadRun())
		head := a.push(c, 1, "")
		_, files, err := a.Events.Append(a.ctx, store.Append{RunID: c.Run.ID, Fence: c.Claimed.Fence, Links: []mapping.Link{{Agent: "echo", Remote: "x"}},
			Files: []artifact.FileWrite{{Artifact: mapping.Artifact{Path: "a.txt"}, Content: []byte("hello")}}})
		a.ok(err)
		a.end(c, mapping.RunSuccess)
		a.ok(a.Items.Put(a.ctx, item.Put{Item: mapping.Item{Namespace: []string{"n"}, Key: "k", Value: []byte(`{}`)}}))
		th, run, file := c.Run.ThreadID, c.Run.ID, files[0].ID
		errs := map[string]error{}
		_, errs["Threads.Get"] = b.Threads.Get(b.ctx, th)
		_, errs["Threads.Patch"] = b.Threads.Patch(b.ctx, th, []byte(`{}`), nil)
		errs["Threads.Delete"] = b.Threads.Delete(b.ctx, th)
		_, errs["Threads.Copy"] = b.Threads.Copy(b.ctx, th, id(), store.IdempotencyKey{})
		_, errs["States.Append"] = b.States.Append(b.ctx, th, head, []mapping.Event{update("2")}, store.StateOptions{})
		_, errs["Runs.Create"] = b.Runs.Create(b.ctx, newRun(th, mapping.StrategyReject))
		_, errs["Runs.Get"] = b.Runs.Get(b.ctx, th, run)
		errs["Runs.Delete"] = b.Runs.Delete(b.ctx, th, run)
		errs["Claims.RequestStop"] = b.Claims.RequestStop(b.ctx, run, "cancel")
		_, errs["Claims.ClaimParked"] = b.Claims.ClaimParked(b.ctx, run)
		_, errs["Events.EndInactive"] = b.Events.EndInactive(b.ctx, th, run, mapping.Event{Kind: mapping.KindEnd}, store.End{})
		_, errs["Events.List"] = b.Events.List(b.ctx, th, "", 0, 0)
		_, errs["Events.List of a run"] = b.Events.List(b.ctx, th, run, 0, 0)
		_, errs["Events.ListOfTask"] = b.Events.ListOfTask(b.ctx, c.Run.TaskID, 0, 0)
		_, errs["Events.LastSeq"] = b.Events.LastSeq(b.ctx, th)
		_, errs["States.At"] = b.States.At(b.ctx, th, head)
		_, errs["States.List"] = b.States.List(b.ctx, th, []string{head})
		_, errs["States.Checkpoints"] = b.States.Checkpoints(b.ctx, th, store.CheckpointQuery{})
		_, errs["Tasks.Get"] = b.Tasks.Get(b.ctx, c.Run.TaskID)
		_, errs["Tasks.HandOut"] = b.Tasks.HandOut(b.ctx, c.Run.TaskID, 1, store.StepRequest{}, store.Reservation{Until: time.Now()})
		_, errs["Tasks.Requests"] = b.Tasks.Requests(b.ctx, c.Run.TaskID)
		_, errs["Artifacts.Get"] = b.Artifacts.Get(b.ctx, th, file)
		_, _, errs["Artifacts.List"] = b.Artifacts.List(b.ctx, th, 0, 0)
		_, _, errs["Artifacts.Open"] = b.Artifacts.Open(b.ctx, th, file)
		_, errs["Artifacts.Save"] = b.Artifacts.Save(b.ctx, mapping.Artifact{ThreadID: th, Path: "b"}, nil, 0, false)
		_, errs["Items.Get"] = b.Items.Get(b.ctx, []string{"n"}, "k", false)
		for name, err := range errs {
			if mapping.Classify(err).Class != mapping.NotFound {
				t.Errorf("%s: %v", name, err)
			}
		}
		threads, n, _ := b.Threads.List(b.ctx, mapping.ThreadQuery{})
		runs, _ := b.Runs.List(b.ctx, mapping.RunQuery{})
		tasks, m, _ := b.Tasks.List(b.ctx, store.TaskQuery{})
		links, _ := b.Links.List(b.ctx, th)
		items, _ := b.Items.List(b.ctx, item.Query{})
		spaces, _ := b.Items.Namespaces(b.ctx, nil)
		if len(threads)+n+len(runs)+len(tasks)+m+len(links)+len(items)+len(spaces) != 0 {
			t.Errorf("lists: %v %v %v %v %v %v", threads, runs, tasks, links, items, spaces)
		}
		// Other tenants can use the same ids.
		_, _, err = b.Threads.Create(b.ctx, store.ThreadCreation{Thread: mapping.Thread{ID: th}, Task: &mapping.Task{ID: c.Run.TaskID}})
		b.ok(err)
		if got, err := a.Threads.Get(a.ctx, th); err != nil || got.Head == "" {
			t.Error(got, err)
		}
	})
}
