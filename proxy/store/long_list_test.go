package store_test

import (
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/proxy/store"
)

// longObject returns an object of about a megabyte with a key for filters.
func longObject(odd int) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"odd":%d,"text":%q}`, odd, strings.Repeat("x", 1<<20)))
}

// manyLong creates runs with their own threads and tasks, about 30 MB in total.
func manyLong(b *harness) {
	b.t.Helper()
	for i := range 10 {
		n := newThreadRun()
		n.Thread.Metadata, n.Task.AdditionalInput = longObject(i%2), longObject(0)
		n.Run.Kwargs, n.Run.Metadata = longObject(0), json.RawMessage(fmt.Sprintf(`{"odd":%d}`, i%2))
		b.create(n)
	}
}

// ranged reads a list and calls then after the first entry.
func ranged[T any](b *harness, list iter.Seq2[T, error], id func(T) string, then func(first string)) (ids []string) {
	b.t.Helper()
	for one, err := range list {
		if err != nil {
			b.t.Fatal(err)
		}
		if ids = append(ids, id(one)); len(ids) == 1 && then != nil {
			then(ids[0])
		}
	}
	return ids
}

// Lists of long rows contain the same as lists of short ones, in the same order, and skip rows that are deleted during
// the iteration.
func TestLongLists(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b := open(t)
		manyLong(b)
		longRuns(t, b)
		longThreads(t, b)
		longTasks(t, b)
		goneMeanwhile(t, b)
	})
}

var odd = json.RawMessage(`{"odd":1}`)

func longRuns(t *testing.T, b *harness) {
	t.Helper()
	said := func(r mapping.Run) string { return r.ID + string(r.Kwargs) }
	for name, q := range map[string]mapping.RunQuery{
		"all": {}, "filtered": {Metadata: odd}, "a page": {Limit: 3, Offset: 6}, "a filtered page": {Metadata: odd, Limit: 2, Offset: 2},
	} {
		want, err := b.Runs.List(b.ctx, q)
		got := ranged(b, b.Runs.Search(b.ctx, q), said, nil)
		if err != nil || len(want) < 2 || !slices.Equal(got, mapped(want, said)) {
			t.Errorf("%s: %d runs of %d, %v", name, len(got), len(want), err)
		}
	}
}

func longThreads(t *testing.T, b *harness) {
	t.Helper()
	said := func(th mapping.Thread) string { return th.ID + string(th.Metadata) }
	isOdd := func(th mapping.Thread) (bool, error) { return rawjson.Contains(th.Metadata, odd), nil }
	for name, c := range map[string]struct {
		q, same mapping.ThreadQuery
		keep    store.ThreadFilter
	}{
		"all":             {},
		"filtered":        {mapping.ThreadQuery{Metadata: odd}, mapping.ThreadQuery{Metadata: odd}, nil},
		"a page":          {mapping.ThreadQuery{Limit: 3, Offset: 6}, mapping.ThreadQuery{Limit: 3, Offset: 6}, nil},
		"kept":            {mapping.ThreadQuery{}, mapping.ThreadQuery{Metadata: odd}, isOdd},
		"a filtered page": {mapping.ThreadQuery{Metadata: odd, Limit: 2, Offset: 2}, mapping.ThreadQuery{Metadata: odd, Limit: 2, Offset: 2}, nil},
		"a page kept":     {mapping.ThreadQuery{Limit: 2, Offset: 2}, mapping.ThreadQuery{Metadata: odd, Limit: 2, Offset: 2}, isOdd},
	} {
		want, total, err := b.Threads.List(b.ctx, c.same)
		list, listed, failed := b.Threads.Search(b.ctx, c.q, c.keep)
		if err != nil || failed != nil || total < 5 || total != listed {
			t.Fatal(err, failed, total, listed)
		}
		if got := ranged(b, list, said, nil); len(want) < 2 || !slices.Equal(got, mapped(want, said)) {
			t.Errorf("%s: %d threads of %d", name, len(got), len(want))
		}
	}
}

func longTasks(t *testing.T, b *harness) {
	t.Helper()
	said := func(k mapping.Task) string { return k.ID + string(k.AdditionalInput) }
	want, total, err := b.Tasks.List(b.ctx, store.TaskQuery{})
	list, listed, failed := b.Tasks.Search(b.ctx, store.TaskQuery{})
	if err != nil || failed != nil || total != 10 || listed != 10 {
		t.Fatal(err, failed, total, listed)
	}
	if got := ranged(b, list, said, nil); !slices.Equal(got, mapped(want, said)) {
		t.Errorf("%d tasks of %d", len(got), len(want))
	}
}

func mapped[T any](list []T, id func(T) string) (ids []string) {
	for _, one := range list {
		ids = append(ids, id(one))
	}
	return ids
}

// goneMeanwhile deletes a thread at the end of the list during the iteration.
func goneMeanwhile(t *testing.T, b *harness) {
	t.Helper()
	last := mapping.NewID()
	if _, _, err := b.Threads.Create(b.ctx, store.ThreadCreation{Thread: mapping.Thread{ID: last, Metadata: longObject(1)}}); err != nil {
		t.Fatal(err)
	}
	list, total, err := b.Threads.Search(b.ctx, mapping.ThreadQuery{Asc: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := ranged(b, list, func(th mapping.Thread) string { return th.ID }, func(string) { b.ok(b.Threads.Delete(b.ctx, last)) })
	if len(got) != total-1 || slices.Contains(got, last) {
		t.Errorf("%d threads of %d, the last of which was deleted", len(got), total)
	}
}
