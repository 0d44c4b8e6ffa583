package judge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/judge/challenge"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/judge/process"
)

// Bytes.
const (
	maxPrinted = 1 << 20 // of the output, whose end is judged
	maxShown   = 8 << 10 // of each output of a failed program in the report
	maxWords   = 200     // of the line with the cause
)

// PythonLimits holds the limits of one judged program.
type PythonLimits struct {
	Time time.Duration
	// Memory bounds the address space of the program and of each child, in bytes. 0 means no limit. It needs a POSIX
	// shell whose ulimit knows -v (Linux).
	Memory int64
}

// Python runs programs written by agents, in their workspace and with an almost empty environment. It is not a sandbox:
// a program can read this machine's files and use its network. Python is safe for concurrent use.
type Python struct {
	path   string // "" if there is no interpreter
	limits PythonLimits
	shell  string // sets the memory limit; "" if there is none
}

// NewPython finds the interpreter. A named one must exist. Without python3, challenges that need it are skipped.
func NewPython(named string, limits PythonLimits) (*Python, error) {
	p := &Python{limits: limits}
	if limits.Memory > 0 {
		p.shell, _ = exec.LookPath("sh")
	}
	if named == "" {
		p.path, _ = exec.LookPath("python3")
		return p, nil
	}
	var err error
	if p.path, err = exec.LookPath(named); err == nil {
		p.path, err = filepath.Abs(p.path) // it is started in another folder
	}
	if err != nil {
		return nil, fmt.Errorf("there is no Python interpreter %s: %w", named, err)
	}
	return p, nil
}

// missing returns the reason why challenges of a type cannot be judged here, or "".
func (p *Python) missing(ctx context.Context, evalType string) string {
	switch {
	case evalType != challenge.ByOutput && evalType != challenge.ByPytest:
		return ""
	case p.path == "":
		return "python3 is not installed"
	case evalType == challenge.ByPytest && !p.hasPytest(ctx):
		return "pytest is not installed for " + p.path + " in the environment of judged programs, which lacks your home folder"
	}
	return ""
}

// hasPytest checks for pytest in an empty workspace with the environment of judged programs.
func (p *Python) hasPytest(ctx context.Context) bool {
	w, err := newWorkspace("")
	if err != nil {
		return false
	}
	defer w.Close()
	return p.run(ctx, w.dir, "", "-c", "import pytest").failed == ""
}

// run executes a program in the workspace. It returns soon after the time limit, whatever the program does. On Unix it
// ends all children that have not left the program's process group.
func (p *Python) run(ctx context.Context, dir, source string, args ...string) output {
	ctx, cancel := context.WithTimeout(ctx, p.limits.Time)
	defer cancel()
	cmd := p.command(ctx, args)
	cmd.Dir, cmd.WaitDelay = dir, time.Second
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir, "PYTHONDONTWRITEBYTECODE=1", "PYTHONIOENCODING=utf-8"}
	var printed, complained tail
	cmd.Stdout, cmd.Stderr = &printed, &complained
	process.Group(cmd)
	cmd.Cancel = func() error { process.Kill(cmd); return nil }
	err := cmd.Start()
	if err == nil {
		release := process.Guard(cmd)
		err = cmd.Wait()
		process.Kill(cmd) // its remaining children
		release()
	}
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil // only a child kept the pipes open
	}
	out := output{source: source, text: "Output: " + printed.String() + "\n"}
	if err != nil {
		out.text = strings.TrimSpace(endOf(complained.String()) + "\n" + endOf(printed.String()))
		out.failed = "it failed: " + lastWords(out.text, err)
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		out.failed = fmt.Sprintf("it took longer than %v", p.limits.Time)
	}
	return out
}

func (p *Python) command(ctx context.Context, args []string) *exec.Cmd {
	if p.shell == "" {
		return exec.CommandContext(ctx, p.path, args...)
	}
	const limited = `ulimit -v "$0" 2>/dev/null; exec "$@"`
	return exec.CommandContext(ctx, p.shell, append([]string{"-c", limited, strconv.FormatInt(p.limits.Memory>>10, 10), p.path}, args...)...)
}

// lastWords returns the most helpful line of a failed program: pytest marks failed assertions with E, and a traceback
// ends with the error.
func lastWords(text string, err error) string {
	last := ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if why, ok := strings.CutPrefix(line, "E  "); ok {
			return clipped(strings.TrimSpace(why), maxWords)
		}
		if strings.TrimSpace(line) != "" {
			last = strings.TrimSpace(line)
		}
	}
	if last == "" {
		return err.Error()
	}
	return clipped(last, maxWords)
}

func endOf(text string) string {
	if len(text) <= maxShown {
		return text
	}
	return "…" + strings.ToValidUTF8(text[len(text)-maxShown:], "")
}

// tail keeps the last bytes that were written.
type tail struct {
	kept bytes.Buffer
	cut  bool
}

func (b *tail) Write(p []byte) (int, error) {
	n := len(p)
	if len(p) > maxPrinted {
		p, b.cut = p[len(p)-maxPrinted:], true
	}
	if over := b.kept.Len() + len(p) - maxPrinted; over > 0 {
		b.kept.Next(over)
		b.cut = true
	}
	b.kept.Write(p)
	return n, nil
}

func (b *tail) String() string {
	if b.cut {
		return "…" + b.kept.String()
	}
	return b.kept.String()
}

// configs are pytest's configuration files (pytest documentation, "Initialization: determining rootdir and
// configfile").
var configs = [...]string{"pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg"}

// pytest returns arguments that restrict pytest to the workspace. By default it also reads configurations and
// conftest.py in the folders above, which belong to the caller.
func (w *workspace) pytest() []string {
	config := os.DevNull
	for _, name := range configs {
		if _, err := w.root.Stat(name); err == nil {
			config = name
			break
		}
	}
	return []string{"-m", "pytest", "--rootdir=.", "--confcutdir=.", "-c", config}
}
