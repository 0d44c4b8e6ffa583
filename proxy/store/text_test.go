package store_test

import (
	"strings"
	"testing"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/google/go-cmp/cmp"
)

// Ids, keys and names come from outside: whatever they hold is kept as it is,
// and can be asked for.
func TestTextsAreKeptWhateverTheyHold(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b := open(t)
		for _, text := range []string{"\x00", "a\x00b", "\xff\xfe", "\U0010FFFF", "\U0010FFFFff", "a\U0010FFFF\x00", "日本\U0001F600", "\xf4\x8f\xbf", strings.Repeat("\x00", 99)} {
			n := newRun("t"+text, mapping.StrategyReject)
			n.Thread = &mapping.Thread{ID: "t" + text}
			n.Task.Input = text
			c := b.create(n)
			_, _, err := b.AppendRun(b.ctx, store.Append{RunID: c.Run.ID, Fence: c.Fence, Links: []mapping.Link{{Agent: "echo", TaskID: c.Run.TaskID, Remote: text}},
				Events: []mapping.Event{{Kind: mapping.KindDelta, Data: []byte(text)}}})
			b.ok(err)
			th, err := b.Thread(b.ctx, "t"+text)
			b.ok(err)
			_, err = b.Link(b.ctx, th.ID, "echo", c.Run.TaskID)
			b.ok(err)
			task, err := b.Task(b.ctx, c.Run.TaskID)
			b.ok(err)
			evs, err := b.Events(b.ctx, th.ID, "", 1, 0)
			b.ok(err)
			b.ok(b.PutItem(b.ctx, store.PutItem{Item: mapping.Item{Namespace: []string{text}, Key: text, Value: []byte(`{}`)}}))
			it, err := b.Item(b.ctx, []string{text}, text, false)
			b.ok(err)
			got := []string{th.ID[1:], task.Input, string(evs[0].Data), it.Key, it.Namespace[0]}
			if d := cmp.Diff([]string{text, text, text, text, text}, got); d != "" {
				t.Error(d)
			}
		}
		_, err := b.Thread(b.ctx, "\x00nope\xff")
		wantClass(t, err, mapping.NotFound, mapping.CodeThreadNotFound)
		_, err = b.Run(b.ctx, "\x00", "\xff")
		wantClass(t, err, mapping.NotFound, mapping.CodeRunNotFound)
	})
}
