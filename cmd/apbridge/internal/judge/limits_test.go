package judge

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/judge/report"
)

// limited returns an interpreter whose programs have a quarter of a gigabyte and a time limit.
func limited(t *testing.T, named string, limit time.Duration) Options {
	t.Helper()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("python3 is not installed")
	}
	p, err := NewPython(named, PythonLimits{Time: limit, Memory: 256 << 20})
	if err != nil {
		t.Fatal(err)
	}
	return Options{Python: p}
}

// A greedy program allocates memory in small parts; a stubborn one never ends.
const (
	greedy   = "a = []\nwhile True: a.append(bytearray(1 << 20))\n"
	stubborn = "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nwhile True: pass\n"
)

// The limit also holds for children.
func TestMemoryLimit(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("ulimit -v works only on Linux")
	}
	const asks = `{"should_contain":["done"],"files":["a.py"],"eval":{"type":"python"}}`
	const inAChild = "import subprocess, sys\nsubprocess.run([sys.executable, 'greedy.py'], check=True)\nprint('done')\n"
	for name, program := range map[string]string{"itself": greedy, "in a child": inAChild} {
		a := &scripted{last: 1, files: map[string]string{"a.py": program, "greedy.py": greedy}}
		result := try(t, a, limited(t, "", 5*time.Minute), data(asks))
		if result.Status != report.Failed || result.TimedOut || !strings.Contains(result.Output, "MemoryError") {
			t.Errorf("%s: %s: %s\n%s", name, result.Status, result.Reason, result.Output)
		}
	}
}

// The limits also hold for pytest.
func TestPytestLimits(t *testing.T) {
	t.Parallel()
	interpreter := withPytest(t)
	for says, x := range map[string]struct {
		program string
		limit   time.Duration
	}{
		"it failed: MemoryError":    {greedy, 5 * time.Minute},
		"it took longer than 900ms": {stubborn, 900 * time.Millisecond},
	} {
		if runtime.GOOS != "linux" && strings.Contains(says, "Memory") {
			continue
		}
		o := limited(t, interpreter, 5*time.Minute)
		if missing := o.Python.missing(t.Context(), "pytest"); missing != "" {
			t.Skip(missing)
		}
		w, err := newWorkspace("")
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		c := loaded(t, "data.json", data(`{"files":[],"eval":{"type":"pytest"}}`), "custom_python/test_a.py", "def test():\n  exec("+quoted(x.program)+")\n")[0]
		if v := limited(t, interpreter, x.limit).Python.judge(t.Context(), c, w); v.Status != report.Failed || !strings.Contains(v.Reason, says) {
			t.Errorf("%s: %q, want %q\n%s", v.Status, v.Reason, says, v.Output)
		}
	}
}

func quoted(program string) string { return `"""` + program + `"""` }

// The time limit also bounds a program that ignores signals, and one whose child leaves the group and keeps the
// pipes open.
func TestTimeLimit(t *testing.T) {
	t.Parallel()
	const asks = `{"should_contain":["done"],"files":["a.py"],"eval":{"type":"python"}}`
	for name, program := range map[string]string{
		"heeds no signal":  stubborn,
		"leaves its group": "import os, time\nif os.fork() == 0: os.setsid() # which a leader of a group may not\ntime.sleep(20)\n",
	} {
		result := try(t, &scripted{last: 1, files: map[string]string{"a.py": program}}, limited(t, "", 500*time.Millisecond), data(asks))
		if result.Status != report.Failed || result.Reason != "a.py: it took longer than 500ms" {
			t.Errorf("%s: %s: %s", name, result.Status, result.Reason)
		}
	}
}

// Names with a special meaning on some system are refused or become files in the folder.
func TestNamesOfFiles(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 300)
	for _, name := range []string{"../a.txt", "/../a.txt", "//etc/a.txt", "a/../../a.txt", `..\..\a.txt`, `C:\a.txt`, "C:a.txt", `\\server\share\a.txt`, "CON", "NUL.txt", "a.txt:stream", "a.txt.", "a\x00b", "~/a.txt",
		long, strings.Repeat("d/", 3000) + "a", "...", "\xff\xfe", "a\nb", "%2e%2e/a.txt", "．．/a.txt", "\u202eg.txt"} {
		above := t.TempDir()
		keep := filepath.Join(above, "kept")
		if err := os.Mkdir(keep, 0o700); err != nil {
			t.Fatal(err)
		}
		try(t, &scripted{last: 1, files: map[string]string{name: "Hi"}}, Options{Keep: keep}, data(wantsHi))
		there, err := os.ReadDir(above)
		kept, errKept := os.ReadDir(keep)
		if err != nil || errKept != nil || len(there) != 1 || len(kept) != 1 || kept[0].Name() != "X-1" {
			t.Errorf("%q: %v, %v; %v, %v", name, there, err, kept, errKept)
		}
	}
}
