package sqldb

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/zap"
)

// link creates a symbolic link, or skips the test if this user may not.
func link(t *testing.T, target, name string) {
	t.Helper()
	if err := os.Symlink(target, name); err != nil {
		t.Skipf("no symbolic links here: %v", err)
	}
}

// TestSecondProcessByAnotherName checks that a second process cannot open the file, whatever name it uses (C8).
func TestSecondProcessByAnotherName(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		other func(t *testing.T, path string) string // another name of the file
		words []string
	}{
		"symbolic link": {func(t *testing.T, path string) string {
			other := filepath.Join(t.TempDir(), "link.db")
			link(t, path, other)
			return other
		}, []string{"another process", "Stop that one"}},
		"link to the folder": {func(t *testing.T, path string) string {
			other := filepath.Join(t.TempDir(), "folder")
			link(t, filepath.Dir(path), other)
			return filepath.Join(other, filepath.Base(path))
		}, []string{"another process", "Stop that one"}},
		"hard link": {func(t *testing.T, path string) string {
			other := filepath.Join(t.TempDir(), "hard.db")
			if err := os.Link(path, other); err != nil {
				t.Skipf("no hard links here: %v", err)
			}
			return other
		}, []string{"2 names", "hard link"}},
		"its lock's name deleted": {func(t *testing.T, path string) string {
			if err := os.Remove(path + "-lock"); err != nil {
				t.Skipf("open files cannot be deleted here: %v", err)
			}
			return path
		}, []string{"another process", "Stop that one"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "apbridge.db")
			first := openDB(t, path, Options{})
			second, err := Open(context.Background(), c.other(t, path), Options{}, zap.NewNop())
			if err == nil {
				_ = second.Close()
				t.Fatal("a second process opened the database")
			}
			for _, w := range c.words {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%q does not contain %q", err, w)
				}
			}
			ok(t, putItem(first, "k", []byte("v"))) // it still works
		})
	}
}

// All files of a database are next to the file itself, so its names can be used interchangeably.
func TestLinkAndFileAreOneDatabase(t *testing.T) {
	t.Parallel()
	real, links := filepath.Join(t.TempDir(), "real.db"), t.TempDir()
	link(t, real, filepath.Join(links, "one.db"))
	link(t, "one.db", filepath.Join(links, "two.db")) // dangling: the file is created at the target
	b := openDB(t, filepath.Join(links, "two.db"), Options{Synchronous: "normal"})
	ok(t, putItem(b, "k", []byte("v")))
	left, err := filepath.Glob(filepath.Join(links, "*"))
	ok(t, err)
	if len(left) != 2 {
		t.Errorf("next to the links: %v", left)
	}
	ok(t, b.Close())
	if n, err := readItems(openDB(t, real, Options{})); n != 1 || err != nil {
		t.Errorf("%d items, %v", n, err)
	}
}

func TestLinkToNowhereIsRefused(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "link.db")
	link(t, filepath.Join(t.TempDir(), "unmounted", "a.db"), path)
	refused(t, path, "unmounted", "does not exist")
	round := filepath.Join(t.TempDir(), "round.db")
	link(t, "round.db", round)
	refused(t, round, "cannot be followed", "links")
}
