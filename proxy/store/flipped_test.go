package store_test

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store"
	"go.uber.org/zap"
)

// TestBitsFlippedAnywhere flips bits anywhere in the file. The file or the affected data is refused, nothing panics or
// hangs, and a damaged file is no longer written to. A flipped bit that breaks no structure is not noticed, because
// there are no checksums (D3).
func TestBitsFlippedAnywhere(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filled(t))
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	found := 0
	for n := range 24 {
		harmed := append([]byte(nil), data...)
		for range 1 + n%17 {
			page := 2048 * random.IntN(len(data)/2048)
			at := page + random.IntN(2048)
			if n%2 == 0 { // the page header and the start of its cells
				at = page + random.IntN(24)
			}
			harmed[at] ^= 1 << random.IntN(8)
		}
		path := filepath.Join(t.TempDir(), strconv.Itoa(n)+".db")
		if err := os.WriteFile(path, harmed, 0o600); err != nil {
			t.Fatal(err)
		}
		if damageFound(t, path) {
			found++
		}
	}
	t.Logf("%d of 24 files were found damaged", found)
	if found < 8 {
		t.Errorf("only %d of 24 files were found damaged", found)
	}
}

// damageFound opens a file and uses it in every way.
func damageFound(t *testing.T, path string) bool {
	t.Helper()
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	s, err := store.Open(ctx, path, store.Options{}, zap.NewNop())
	if err != nil {
		return true
	}
	defer s.Close()
	damaged := false
	note := func(err error) {
		if e := mapping.Classify(err); err != nil && e.Class == mapping.Unavailable {
			damaged = true
		}
		if ctx.Err() != nil {
			t.Error("the store hangs")
		}
	}
	list, _, err := s.Threads.List(ctx, mapping.ThreadQuery{})
	note(err)
	for _, th := range list {
		_, err := s.States.At(ctx, th.ID, "")
		note(err)
		_, err = s.Events.List(ctx, th.ID, "", 0, 0)
		note(err)
		_, err = s.Runs.List(ctx, mapping.RunQuery{ThreadID: th.ID})
		note(err)
		_, err = s.Threads.Patch(ctx, th.ID, []byte(`{"a":1}`), nil)
		note(err)
		note(s.Threads.Delete(ctx, th.ID))
	}
	if _, _, err := s.Threads.Create(ctx, store.ThreadCreation{Thread: mapping.Thread{ID: id()}}); damaged && err == nil {
		t.Errorf("%s is damaged, but was written to", filepath.Base(path))
	}
	return damaged
}
