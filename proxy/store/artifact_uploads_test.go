package store_test

import (
	"strings"
	"testing"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/apbridge/apbridge/proxy/store/artifact"
)

// An upload is listed however it came to the thread.
func TestUploadsAreListedRegardlessOfOrigin(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b := open(t)
		see := func(thread string, want ...string) {
			t.Helper()
			list, err := b.Artifacts.Uploads(b.ctx, thread)
			b.ok(err)
			var got []string
			for _, a := range list {
				got = append(got, a.Path)
			}
			if strings.Join(got, " ") != strings.Join(want, " ") {
				t.Errorf("uploads %v, want %v", got, want)
			}
		}
		byClient := b.thread().ID
		see(byClient)
		b.save(byClient, "a", "1", false)
		see(byClient, "a")

		withInput := b.create(newThreadRun())
		see(withInput.Run.ThreadID)
		files := func(made bool, path string) {
			_, _, err := b.Events.Append(b.ctx, store.Append{ThreadID: withInput.Run.ThreadID, RunID: withInput.Run.ID, Fence: withInput.Claimed.Fence,
				Events: []mapping.Event{update(`{"a":1}`)}, Files: []artifact.FileWrite{{Artifact: mapping.Artifact{Path: path, AgentCreated: made}, Content: []byte("x")}}})
			b.ok(err)
		}
		files(true, "made")
		see(withInput.Run.ThreadID)
		files(false, "given")
		see(withInput.Run.ThreadID, "given")

		copied, err := b.Threads.Copy(b.ctx, byClient, id(), store.IdempotencyKey{})
		b.ok(err)
		see(copied.ID, "a")

		staged := b.thread().ID
		see(staged)
		b.save(staged, "later", "1", true)
		see(staged)

		b.ok(b.Threads.Delete(b.ctx, byClient))
		see(byClient)
		see(b.thread().ID)
	})
}
