//go:build failpoint

package failpoint

import (
	"os"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Enabled reports whether this build has fail points.
const Enabled = true

// plan is read from the environment. It is the one global of the program, and only exists in builds for crash tests.
var plan = struct {
	sync.Mutex
	point Point
	left  int
	trace *os.File
	// flushed size of the database's log, and the file to write it to
	flushed int64
	note    string
}{}

func init() {
	name, n, _ := strings.Cut(os.Getenv("FAILPOINT"), "#")
	plan.point = Point(name)
	plan.left, _ = strconv.Atoi(n)
	if path := os.Getenv("FAILPOINT_TRACE"); path != "" {
		plan.trace, _ = os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	}
	plan.note = os.Getenv("FAILPOINT_FLUSHED")
}

// Hit marks a point as reached. It does not return if the process must die here. While the process dies, no other
// goroutine passes a point.
func Hit(p Point) {
	plan.Lock()
	defer plan.Unlock()
	if plan.trace != nil {
		_, _ = plan.trace.WriteString(string(p) + "\n")
	}
	if p != plan.point {
		return
	}
	if plan.left--; plan.left == 0 {
		self, _ := os.FindProcess(os.Getpid())
		_ = self.Kill() // SIGKILL: no handler runs, and nothing is flushed
		select {}
	}
}

// Flushed records the size of a SQLite database's log at the beginning of a flush that has now finished. The process
// does not die during the call.
func Flushed(size int64) {
	plan.Lock()
	defer plan.Unlock()
	if plan.note != "" && size > plan.flushed {
		plan.flushed = size
		_ = os.WriteFile(plan.note, []byte(strconv.FormatInt(size, 10)), 0o600)
	}
}

// closure matches the suffix that Go adds to the names of function literals.
var closure = regexp.MustCompile(`(\.func\d+|\.gowrap\d+|\.\d+|-range\d+)+$`)

// Caller returns the current function with its package, as in "store.Runs.Create": the nearest caller that is neither
// in pass nor in this package.
func Caller(pass ...string) string {
	var pcs [32]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	for {
		frame, more := frames.Next()
		name := frame.Function[strings.LastIndexByte(frame.Function, '/')+1:]
		name = closure.ReplaceAllString(name, "")
		name = strings.NewReplacer("(*", "", ")", "").Replace(name)
		if method := name[strings.LastIndexByte(name, '.')+1:]; !slices.Contains(pass, method) {
			return name
		}
		if !more {
			return "unknown"
		}
	}
}
