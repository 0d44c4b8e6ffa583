package bridge

import (
	"os"
	"path/filepath"
	"time"

	"github.com/apbridge/apbridge/proxy/store"
)

// Names of the commands' temporary folders, as patterns, and of the database in each.
const (
	TemporaryRun  = "apbridge-run-*"
	TemporaryDemo = "apbridge-demo-*"
	RunDatabase   = "run.db"
	DemoDatabase  = "demo.db"
)

// settledAge is the age of a temporary folder at which its process has certainly opened the database.
const settledAge = time.Hour

// SweepTemporary removes the remains of killed bridge processes from dir: clients' uploads, and the databases of run
// and demo. Files of a running process stay. Errors are left to the next sweep.
func SweepTemporary(dir string) {
	for _, d := range Dialects() {
		for _, pattern := range d.Temporary {
			removeFiles(filepath.Join(dir, pattern))
		}
	}
	for pattern, database := range map[string]string{TemporaryRun: RunDatabase, TemporaryDemo: DemoDatabase} {
		folders, _ := filepath.Glob(filepath.Join(dir, pattern))
		for _, folder := range folders {
			if leftBehind(folder, database) {
				_ = os.RemoveAll(folder)
			}
		}
	}
}

// removeFiles removes the files that match a pattern. On systems that can unlink open files, a process can still read
// such a file.
func removeFiles(pattern string) {
	files, _ := filepath.Glob(pattern)
	for _, path := range files {
		if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() {
			_ = os.Remove(path)
		}
	}
}

func leftBehind(folder, database string) bool {
	info, err := os.Lstat(folder)
	return err == nil && info.IsDir() && time.Since(info.ModTime()) > settledAge && store.Abandoned(filepath.Join(folder, database))
}
