//go:build unix

package crash

import (
	"context"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
)

// replica is a bridge in a separate process that is restarted at the same address. Only the test's goroutine may use
// it.
type replica struct {
	t        *testing.T
	binary   string
	dsn      string
	agent    string
	address  string
	cmd      *exec.Cmd
	consoles []*rig.Console // one for each life
}

func (r *replica) start() {
	r.t.Helper()
	out := rig.NewConsole()
	r.consoles = append(r.consoles, out)
	r.cmd = exec.Command(r.binary, "serve", "--listen", r.address, "--database", r.dsn, "--agent", "agent="+r.agent)
	r.cmd.Stdout, r.cmd.Stderr = out, out
	r.cmd.Env = append(os.Environ(), "APBRIDGE_AGENTS__AGENT__DIALECT=taskstep", "APBRIDGE_SHUTDOWN_GRACE=2s", "APBRIDGE_AGENTS__AGENT__STEP_TIMEOUT=20s")
	if err := r.cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(r.kill)
}

// ready waits until the bridge serves.
func (r *replica) ready() {
	r.t.Helper()
	late := time.After(readyMost)
	for !r.serves() {
		select {
		case <-late:
			r.t.Fatalf("%s is not ready after %v\n%s", r.address, readyMost, rig.WithoutRequests(r.said()))
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// readyMost bounds the time until a bridge serves again after any fault.
const readyMost = time.Minute

func (r *replica) serves() bool {
	ctx, stop := context.WithTimeout(r.t.Context(), time.Second)
	defer stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+r.address+"/readyz", nil)
	if err != nil {
		r.t.Fatal(err)
	}
	res, err := soakHTTP.Do(req)
	if err != nil {
		return false
	}
	defer res.Body.Close()
	return res.StatusCode == http.StatusOK
}

func (r *replica) signal(s os.Signal) {
	r.t.Helper()
	if err := r.cmd.Process.Signal(s); err != nil {
		r.t.Fatal(err)
	}
}

// kill ends the process at once, even if it is suspended.
func (r *replica) kill() {
	_ = r.cmd.Process.Kill()
	_ = r.cmd.Wait()
}

// stop ends the process gracefully.
func (r *replica) stop() {
	r.t.Helper()
	r.signal(syscall.SIGTERM)
	_ = r.cmd.Wait()
}

// said returns the log output of all processes of the bridge.
func (r *replica) said() string {
	var all strings.Builder
	for _, c := range r.consoles {
		all.WriteString(c.String())
	}
	return all.String()
}
