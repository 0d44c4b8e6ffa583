package benchmark

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"
)

// maxPrinted bounds what is kept of a program's output.
const maxPrinted = 1 << 20

// interpreter runs what agents wrote; "" is none.
type interpreter string

// findPython finds the interpreter. One that was named must be there; without
// python3 what needs it is skipped.
func findPython(named string) (interpreter, error) {
	if named == "" {
		found, _ := exec.LookPath("python3")
		return interpreter(found), nil
	}
	found, err := exec.LookPath(named)
	if err != nil {
		return "", fmt.Errorf("there is no Python interpreter %s (-python): %w", named, err)
	}
	return interpreter(found), nil
}

// missing is why challenges of this type cannot be judged here.
func (p interpreter) missing(ctx context.Context, evalType string) string {
	switch {
	case evalType != "python" && evalType != "pytest":
		return ""
	case p == "":
		return "python3 is not installed"
	case evalType == "pytest" && exec.CommandContext(ctx, string(p), "-c", "import pytest").Run() != nil:
		return "pytest is not installed"
	}
	return ""
}

// file runs a file of the workspace.
func (p interpreter) file(ctx context.Context, dir, at string, limit time.Duration) output {
	return p.run(ctx, dir, at, limit, at)
}

// pytest runs the tests of the workspace.
func (p interpreter) pytest(ctx context.Context, dir string, limit time.Duration) output {
	return p.run(ctx, dir, "pytest", limit, "-m", "pytest")
}

// run executes in the workspace, with an environment that holds nothing of
// ours. It returns soon after limit, whatever the program does.
func (p interpreter) run(ctx context.Context, dir, source string, limit time.Duration, args ...string) output {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, string(p), args...)
	cmd.Dir, cmd.WaitDelay = dir, time.Second
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir, "PYTHONDONTWRITEBYTECODE=1", "PYTHONIOENCODING=utf-8"}
	var printed, complained bounded
	cmd.Stdout, cmd.Stderr = &printed, &complained
	err := cmd.Run()
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return output{source: source, text: fmt.Sprintf("it took longer than %v", limit), failed: true}
	case err != nil:
		return output{source: source, text: err.Error() + "\n" + complained.String() + printed.String(), failed: true}
	}
	return output{source: source, text: "Output: " + printed.String() + "\n"}
}

// bounded keeps the first bytes that are written and drops the rest.
type bounded struct{ kept bytes.Buffer }

func (b *bounded) Write(p []byte) (int, error) {
	if room := maxPrinted - b.kept.Len(); room > 0 {
		b.kept.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

func (b *bounded) String() string { return b.kept.String() }
