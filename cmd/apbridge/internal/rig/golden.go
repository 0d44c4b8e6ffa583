package rig

import (
	"flag"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

// Update is set by -update.
var Update = flag.Bool("update", false, "rewrite the golden files")

// CheckGolden compares an archive with its file, or rewrites the file.
func CheckGolden(t *testing.T, file string, got *txtar.Archive) {
	t.Helper()
	if *Update {
		if err := os.WriteFile(file, txtar.Format(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(txtar.Format(want)), string(txtar.Format(got))); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}
