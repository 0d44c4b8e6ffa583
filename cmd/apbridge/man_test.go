//go:build man

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/console"
)

// TestManPages checks that each command that is not hidden has a page with the given date.
func TestManPages(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "1700000000")
	folder := t.TempDir()
	if code, _, errs := command(t, nil, "man", folder); code != 0 {
		t.Fatal(errs)
	}
	for _, page := range []string{"apbridge", "apbridge-serve", "apbridge-runs-ls"} {
		raw, err := os.ReadFile(filepath.Join(folder, page+".1"))
		if err != nil {
			t.Fatal(err)
		}
		holds(t, string(raw), ".SH SYNOPSIS", "Nov 2023")
	}
	if code, _, errs := command(t, nil, "man", filepath.Join(folder, "none")); code != console.ExitMisuse || !strings.Contains(errs, "create it first") {
		t.Errorf("a folder that is not there: %d, %q", code, errs)
	}
}
