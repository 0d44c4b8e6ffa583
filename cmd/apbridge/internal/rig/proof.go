package rig

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// ProvenBy returns a proof for a key by a test in a folder of the repository or below it. It fails if there is no such
// test, which runs with its own package.
func ProvenBy(folder, name string) func(*testing.T) {
	return func(t *testing.T) {
		found := false
		err := filepath.WalkDir(filepath.Join(Root(t), filepath.FromSlash(folder)), func(file string, _ fs.DirEntry, err error) error {
			if err != nil || found || !strings.HasSuffix(file, "_test.go") {
				return err
			}
			b, err := os.ReadFile(file)
			found = strings.Contains(string(b), "\nfunc "+name+"(")
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if !found {
			t.Errorf("there is no %s in %s", name, folder)
		}
	}
}
