package config

import (
	"os"
	"path/filepath"
)

// AuditToOutput is the value of Audit.File for standard output.
const AuditToOutput = "-"

// On reports whether operations are logged.
func (a Audit) On() bool { return a.File != "" }

func (r *report) checkAudit(a Audit) {
	r.atLeast("audit.keep", int64(a.Keep), 0)
	if a.MaxSize != 0 {
		r.atLeast("audit.max_size", int64(a.MaxSize), 1<<20)
	}
	if !a.On() || a.File == AuditToOutput {
		return
	}
	if about, err := os.Stat(filepath.Dir(a.File)); err != nil || !about.IsDir() {
		r.problem("audit.file", "is in the folder %q, which does not exist; create it, or write another", filepath.Dir(a.File))
	}
}
