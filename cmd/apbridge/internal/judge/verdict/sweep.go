package verdict

import (
	"os"
	"path/filepath"
	"time"
)

// temporary is the pattern of a workspace's name.
const temporary = "apbridge-bench-*"

// abandoned is how old a workspace is when no process judges it any more.
const abandoned = 24 * time.Hour

// Sweep removes from dir the workspaces that killed processes have left. What cannot be removed is left to the next
// sweep.
func Sweep(dir string) {
	folders, _ := filepath.Glob(filepath.Join(dir, temporary))
	for _, folder := range folders {
		if info, err := os.Lstat(folder); err == nil && info.IsDir() && time.Since(info.ModTime()) > abandoned {
			_ = remove(folder)
		}
	}
}
