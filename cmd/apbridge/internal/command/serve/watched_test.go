package serve

import (
	"crypto/sha256"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
)

// TestAWatchedFileWithoutAnEnd checks that watched files are read only up to the maximum size of a configuration.
func TestAWatchedFileWithoutAnEnd(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "bridge.yaml")
	rig.WriteFile(t, file, "agents: {}\n")
	if err := os.Truncate(file, 1<<40); err != nil {
		t.Skipf("no such file can be had: %v", err)
	}
	before := contents{file: sha256.Sum256([]byte("agents: {}\n"))}
	if now := before.now(); maps.Equal(now, before) {
		t.Error("a file that has grown is no change")
	}
}
