package store_test

import (
	"strings"
	"testing"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/apbridge/apbridge/proxy/store/storetest"
)

// The exports of an owner's rows, files and links, and the items passed to agents, are opened, too.
func TestSealedRowsOfAnOwnerAreOpened(t *testing.T) {
	t.Parallel()
	storetest.Databases(t, func(t *testing.T, fresh func(testing.TB) string) {
		b := openAt(t, fresh(t), store.Options{Keys: sealRing(t, false, 1)})
		c := b.create(newThreadRun())
		link := mapping.Link{Agent: "echo", TaskID: c.Run.ID, Remote: "remote"}
		told := mapping.Head{Link: &link, Recalled: []mapping.ItemName{{Namespace: []string{"n"}, Key: "k"}}}
		b.append(c, mapping.Event{Kind: mapping.KindLinked, Head: told})
		b.ok(b.Calls.Keep(b.ctx, c.Run.ID, c.Claimed.Fence, []store.RunCall{{N: 1, Head: []byte(`{"method":"POST"}`), Sent: []byte(`"asked"`)}}))
		_, err := b.Artifacts.Save(b.ctx, mapping.Artifact{ID: rule.ArtifactID(c.Run.ThreadID, "a"), ThreadID: c.Run.ThreadID, Path: "a"}, strings.NewReader("given"), 0, false)
		b.ok(err)

		items, err := b.Events.Recalled(b.ctx, c.Run.ThreadID, 10)
		if err != nil || len(items) != 1 || len(items[0].Items) != 1 || items[0].Items[0].Key != "k" {
			t.Errorf("items %+v, %v", items, err)
		}
		copies, err := b.Owners.Copies(b.ctx, c.Run.ThreadID)
		if err != nil || len(copies) != 1 || copies[0].Remote != "remote" {
			t.Errorf("copies %+v, %v", copies, err)
		}
		rows := map[string]string{}
		b.ok(b.Owners.Rows(b.ctx, c.Claimed.Thread.Owner, func(table string, _ int, lines []byte) error {
			rows[table] += string(lines)
			return nil
		}))
		for table, part := range map[string]string{"run_calls": `"head":{"method":"POST"},"sent":"asked","received":null`, "events": `"remote":"remote"`} {
			if !strings.Contains(rows[table], part) {
				t.Errorf("rows of %s: %s", table, rows[table])
			}
		}
		files, err := b.Owners.Files(b.ctx, c.Claimed.Thread.Owner, store.OwnedFile{})
		b.ok(err)
		var held []byte
		for _, f := range files {
			b.ok(b.Owners.FileBytes(b.ctx, f, func(piece []byte) error { held = append(held, piece...); return nil }))
		}
		if string(held) != "given" {
			t.Errorf("the file contains %q", held)
		}
	})
}
