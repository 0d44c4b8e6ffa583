package store_test

import (
	"strings"
	"testing"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/apbridge/apbridge/proxy/store/item"
	"github.com/apbridge/apbridge/proxy/store/storetest"
	"github.com/google/go-cmp/cmp"
)

// Ids, keys and names come from outside. Any text in them is kept unchanged and can be searched for. Earlier versions
// encoded U+0000 and bytes that are not UTF-8 for PostgreSQL as U+10FFFF and following characters; these are found
// under the stored name.
func TestAnyTextIsStored(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b := open(t)
		for _, text := range []string{"\U0010FFFF", "\U0010FFFF00", "a\U0010FFFFffb", "日本\U0001F600", "\x01\n\x7f", strings.Repeat("é", 99)} {
			n := newRun("t"+text, mapping.StrategyReject)
			n.Thread = &mapping.Thread{ID: "t" + text}
			n.Task.Input = text
			c := b.create(n)
			_, _, err := b.Events.Append(b.ctx, store.Append{RunID: c.Run.ID, Fence: c.Claimed.Fence, Links: []mapping.Link{{Agent: "echo", TaskID: c.Run.TaskID, Remote: text}},
				Events: []mapping.Event{{Kind: mapping.KindDelta, Data: []byte(text)}}})
			b.ok(err)
			th, err := b.Threads.Get(b.ctx, "t"+text)
			b.ok(err)
			_, err = b.Links.Get(b.ctx, th.ID, "echo", c.Run.TaskID)
			b.ok(err)
			task, err := b.Tasks.Get(b.ctx, c.Run.TaskID)
			b.ok(err)
			evs, err := b.Events.List(b.ctx, th.ID, "", 1, 0)
			b.ok(err)
			b.ok(b.Items.Put(b.ctx, item.Put{Item: mapping.Item{Namespace: []string{text}, Key: text, Value: []byte(`{}`)}}))
			it, err := b.Items.Get(b.ctx, []string{text}, text, false)
			b.ok(err)
			got := []string{th.ID[1:], task.Input, string(evs[0].Data), it.Key, it.Namespace[0]}
			if d := cmp.Diff([]string{text, text, text, text, text}, got); d != "" {
				t.Error(d)
			}
		}
	})
}

// Text that PostgreSQL cannot store is refused before it reaches the database. If it does reach it, the error is an
// invalid request, which cannot succeed when retried.
func TestPostgresRefusesInvalidText(t *testing.T) {
	t.Parallel()
	b := openAt(t, storetest.Schema(t), store.Options{})
	for _, text := range []string{"\x00", "a\x00b", "\xff\xfe", "\xf4\x8f\xbf"} {
		_, _, err := b.Threads.Create(b.ctx, store.ThreadCreation{Thread: mapping.Thread{ID: text}})
		wantClass(t, err, mapping.Invalid, mapping.CodeInvalid)
		_, err = b.Threads.Get(b.ctx, text)
		wantClass(t, err, mapping.Invalid, mapping.CodeInvalid)
		n := newThreadRun()
		n.Run.TaskID, n.Task.ID = text, text
		_, err = b.Runs.Create(b.ctx, n)
		wantClass(t, err, mapping.Invalid, mapping.CodeInvalid)
		_, err = b.Threads.Get(b.ctx, n.Run.ThreadID)
		wantClass(t, err, mapping.NotFound, mapping.CodeThreadNotFound)
	}
}

// Failure messages are stored even if part of them comes from an agent or a receiver.
func TestFailuresAreKeptAsText(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b := open(t)
		b.hooked("http://h/1")
		list, _ := b.due(1, nil)
		b.ok(b.Deliveries.Failed(b.ctx, list[0], "a\x00b\xff", 0))
		list, _ = b.due(1, nil)
		if got := list[0].Error; got != "a\uFFFDb\uFFFD" {
			t.Errorf("kept %q", got)
		}
	})
}
