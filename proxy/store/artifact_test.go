package store_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/apbridge/apbridge/proxy/store/artifact"
	"github.com/google/go-cmp/cmp"
)

func (b *harness) file(thread, id string) string {
	b.t.Helper()
	_, r, err := b.Artifacts.Open(b.ctx, thread, id)
	b.ok(err)
	defer r.Close()
	data, err := io.ReadAll(r)
	b.ok(err)
	return string(data)
}

func (b *harness) save(thread, path, content string, staged bool) mapping.Artifact {
	b.t.Helper()
	a, err := b.Artifacts.Save(b.ctx, mapping.Artifact{ThreadID: thread, Path: path}, strings.NewReader(content), 0, staged)
	b.ok(err)
	return a
}

func (b *harness) paths(thread string) (paths []string) {
	b.t.Helper()
	list, total, err := b.Artifacts.List(b.ctx, thread, 0, 0)
	b.ok(err)
	for _, a := range list {
		paths = append(paths, a.Path)
	}
	if total != len(paths) {
		b.t.Fatalf("total %d, want %d", total, len(paths))
	}
	return paths
}

// A part can begin and end anywhere: within a chunk, across a chunk boundary, at the end.
func TestAFileIsReadFromAnywhere(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b := open(t)
		th := b.thread().ID
		const chunk = 256 << 10
		content := make([]byte, 2*chunk+1000)
		for i := range content {
			content[i] = byte(i / 251)
		}
		a := b.save(th, "big.bin", string(content), false)
		_, r, err := b.Artifacts.Open(b.ctx, th, a.ID)
		b.ok(err)
		defer r.Close()
		for _, at := range []struct{ from, length int }{
			{chunk - 1, 2}, {0, 10}, {chunk, 1}, {len(content) - 3, 3}, {5, 2 * chunk}, {2*chunk + 1, 998}, {0, len(content)},
		} {
			if n, err := r.Seek(int64(at.from), io.SeekStart); n != int64(at.from) || err != nil {
				t.Fatalf("seek returned %d, %v", n, err)
			}
			got := make([]byte, at.length)
			if _, err := io.ReadFull(r, got); err != nil || !bytes.Equal(got, content[at.from:at.from+at.length]) {
				t.Errorf("%d bytes from %d differ, %v", at.length, at.from, err)
			}
		}
		if n, err := r.Seek(-4, io.SeekCurrent); n != int64(len(content)-4) || err != nil {
			t.Errorf("seeking back: %d, %v", n, err)
		}
		if n, err := r.Seek(0, io.SeekEnd); n != int64(len(content)) || err != nil {
			t.Errorf("seeking to the end: %d, %v", n, err)
		}
		if n, err := r.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
			t.Errorf("reading at the end: %d, %v", n, err)
		}
		if _, err := r.Seek(-1, io.SeekStart); err == nil {
			t.Error("a position before the start was accepted")
		}
	})
}

func TestUploadIsKeptInChunks(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b := open(t)
		th := b.thread().ID
		content := bytes.Repeat([]byte("0123456789"), 70_000)
		a, err := b.Artifacts.Save(b.ctx, mapping.Artifact{ThreadID: th, Path: "dir/big.bin", MIMEType: "x/y", TaskID: "k"},
			iotest.HalfReader(bytes.NewReader(content)), int64(len(content)), false)
		b.ok(err)
		sum := sha256.Sum256(content)
		if a.Size != int64(len(content)) || a.Sum != hex.EncodeToString(sum[:]) || a.ID == "" {
			t.Fatalf("got %+v", a)
		}
		if b.file(th, a.ID) != string(content) {
			t.Fatal("the bytes differ")
		}
		got, err := b.Artifacts.Get(b.ctx, th, a.ID)
		b.ok(err)
		if d := cmp.Diff(a, got); d != "" {
			t.Fatal(d)
		}
		again := b.save(th, "dir/big.bin", "small", false)
		if again.ID != a.ID || !again.CreatedAt.Equal(a.CreatedAt) || again.TaskID != "k" || b.file(th, a.ID) != "small" {
			t.Fatalf("got %+v", again)
		}
		empty := b.save(th, "empty", "", false)
		if b.file(th, empty.ID) != "" {
			t.Fatal("an empty file has bytes")
		}
	})
}

// A reader that has seen the uploads up to one of them has not seen the next, even if the clock stands still or is set
// back.
func TestUploadsAreInTheOrderOfTheirTimes(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b, clock := clocked(t, open)
		th := b.thread().ID
		var given mapping.UploadCursor
		for i, back := range []time.Duration{0, 0, time.Hour, 0} {
			clock.at = clock.at.Add(-back)
			for _, path := range []string{"same.txt", fmt.Sprintf("%d.txt", i)} {
				a := b.save(th, path, path, false)
				if given.Has(a) {
					t.Errorf("upload %d of %s counts as already given: %v", i, path, a.ModifiedAt)
				}
				given = given.With(a)
			}
		}
	})
}

func TestBrokenUploadLeavesNothing(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b := open(t)
		th := b.thread().ID
		for name, c := range map[string]struct {
			body  io.Reader
			limit int64
			class mapping.Class
		}{
			"too large": {strings.NewReader(strings.Repeat("x", 300<<10)), 256 << 10, mapping.TooLarge},
			"broken":    {brokenAt(300<<10, errors.New("gone")), 0, mapping.Internal},
			// This is how net/http reports a body that ends early, with Content-Length and with chunks.
			"cut off":                     {brokenAt(300<<10, io.ErrUnexpectedEOF), 0, mapping.Internal},
			"cut off between two chunks":  {brokenAt(256<<10, io.ErrUnexpectedEOF), 0, mapping.Internal},
			"cut off at once":             {brokenAt(0, io.ErrUnexpectedEOF), 0, mapping.Internal},
			"an end that another carries": {brokenAt(300<<10, fmt.Errorf("reading the form: %w", io.EOF)), 0, mapping.Internal},
		} {
			_, err := b.Artifacts.Save(b.ctx, mapping.Artifact{ThreadID: th, Path: "a"}, c.body, c.limit, false)
			if mapping.Classify(err).Class != c.class {
				t.Errorf("%s: %v", name, err)
			}
		}
		if p := b.paths(th); len(p) != 0 {
			t.Fatal(p)
		}
	})
}

// brokenAt returns a body that breaks off after n bytes.
func brokenAt(n int, err error) io.Reader {
	return io.MultiReader(strings.NewReader(strings.Repeat("x", n)), iotest.ErrReader(err))
}

func TestStagedArtifactAppearsWithItsEvent(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b := open(t)
		c := b.create(newThreadRun())
		th := c.Run.ThreadID
		old := b.save(th, "a.txt", "old", false)
		staged := b.save(th, "a.txt", "new", true)
		fresh, twice := b.save(th, "b.txt", "b", true), b.save(th, "b.txt", "bb", true)
		if staged.ID != old.ID || fresh.ID != twice.ID || b.file(th, old.ID) != "old" {
			t.Fatal("a staged file is visible")
		}
		_, err := b.Artifacts.Get(b.ctx, th, fresh.ID)
		wantClass(t, err, mapping.NotFound, mapping.CodeArtifactNotFound)
		_, list, err := b.Events.Append(b.ctx, store.Append{RunID: c.Run.ID, Fence: c.Claimed.Fence, Artifacts: []string{staged.ID, fresh.ID},
			Files: []artifact.FileWrite{{Artifact: mapping.Artifact{Path: "c/d.txt", AgentCreated: true, MIMEType: "text/plain"}, Content: []byte("cd")}}})
		b.ok(err)
		if len(list) != 3 || b.file(th, list[0].ID) != "new" || b.file(th, list[1].ID) != "bb" || b.file(th, list[2].ID) != "cd" || list[2].ThreadID != th {
			t.Fatalf("got %+v", list)
		}
		if d := cmp.Diff([]string{"c/d.txt", "a.txt", "b.txt"}, b.paths(th)); d != "" {
			t.Fatal(d)
		}
		_, _, err = b.Events.Append(b.ctx, store.Append{RunID: c.Run.ID, Fence: c.Claimed.Fence, DropFiles: []string{"c/d.txt", "unknown"}, Artifacts: []string{old.ID}})
		b.ok(err)
		if d := cmp.Diff([]string{"a.txt", "b.txt"}, b.paths(th)); d != "" {
			t.Fatal(d)
		}
		_, _, err = b.Events.Append(b.ctx, store.Append{RunID: c.Run.ID, Fence: c.Claimed.Fence, Artifacts: []string{"nope"}, Events: []mapping.Event{token("1")}})
		wantClass(t, err, mapping.NotFound, mapping.CodeArtifactNotFound)
		if seq, _ := b.Events.LastSeq(b.ctx, th); seq != 1 {
			t.Fatalf("seq %d: half an append was written", seq)
		}
	})
}

func TestArtifactsOfAgentsAreListedFirst(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b := open(t)
		th := b.thread().ID
		for _, a := range []mapping.Artifact{{Path: "z"}, {Path: "a/b"}, {Path: "b"}, {Path: "m/n", AgentCreated: true}, {Path: "y", AgentCreated: true}} {
			a.ThreadID = th
			_, err := b.Artifacts.Save(b.ctx, a, strings.NewReader(a.Path), 0, false)
			b.ok(err)
		}
		if d := cmp.Diff([]string{"y", "m/n", "b", "z", "a/b"}, b.paths(th)); d != "" {
			t.Fatal(d)
		}
		list, total, err := b.Artifacts.List(b.ctx, th, 2, 3)
		b.ok(err)
		if len(list) != 2 || list[0].Path != "z" || total != 5 {
			t.Fatal(list, total)
		}
	})
}

// A slow reader of a file that is deleted gets an error, never the bytes of a new file, which may belong to another
// owner.
func TestReaderNeverGetsAnotherFile(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b := open(t)
		alice, bob := b.as("a"), b.as("b")
		content := func(x string) string { return strings.Repeat(x, 600<<10) }
		th := alice.thread().ID
		a := alice.save(th, "big", content("a"), false)
		_, r, err := b.Artifacts.Open(alice.ctx, th, a.ID)
		b.ok(err)
		defer r.Close()
		first := make([]byte, 1000)
		_, err = io.ReadFull(r, first)
		b.ok(err)
		b.ok(b.Threads.Delete(alice.ctx, th))
		bob.save(bob.thread().ID, "big", content("b"), false)
		rest, err := io.ReadAll(r)
		if bytes.Contains(rest, []byte("b")) {
			t.Error("the reader got bytes of another file")
		}
		if mapping.Classify(err).Class != mapping.NotFound {
			t.Errorf("%d bytes and %v", len(rest), err)
		}
	})
}
