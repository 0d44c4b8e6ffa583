package rig

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Process is a bridge in a separate process.
type Process struct {
	URL   string
	cmd   *exec.Cmd
	Start time.Duration // from exec to ready
}

// StartProcess runs the binary with a configuration until the test ends. Its files and its temporary files are in
// folder.
func StartProcess(t *testing.T, binary, folder, text string) *Process {
	t.Helper()
	file := filepath.Join(folder, "apbridge.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	address := FreeAddress(t)
	output := &bytes.Buffer{}
	p := &Process{URL: "http://" + address, cmd: exec.Command(binary, "serve", "--config", file, "--listen", address, "--log-level", "error")}
	p.cmd.Stdout, p.cmd.Stderr, p.cmd.Env = output, output, append(PlainEnvironment(), "TMPDIR="+folder)
	begin := time.Now()
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Stop)
	if err := awaitReady(p.URL, begin.Add(time.Minute)); err != nil {
		p.Stop()
		t.Fatalf("the bridge did not become ready: %v\n%s", err, output)
	}
	p.Start = time.Since(begin)
	return p
}

// PlainEnvironment returns the environment of this process without the bridge's configuration.
func PlainEnvironment() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "APBRIDGE_") })
}

// Stop ends the process. Further calls have no effect.
func (b *Process) Stop() {
	if b.cmd.ProcessState != nil {
		return
	}
	b.cmd.Process.Signal(syscall.SIGTERM)
	kill := time.AfterFunc(time.Minute, func() { b.cmd.Process.Kill() })
	defer kill.Stop()
	b.cmd.Wait()
}

func awaitReady(url string, deadline time.Time) error {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Second}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for time.Now().Before(deadline) {
		res, err := client.Get(url + "/readyz")
		if err == nil {
			res.Body.Close()
			if res.StatusCode == http.StatusOK {
				return nil
			}
		}
		<-tick.C
	}
	return errors.New("no 200 from /readyz in time")
}

// CPU returns the processor time of the process, or 0 without /proc.
func (b *Process) CPU() time.Duration {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", b.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	// The name in parentheses may contain spaces. utime and stime are the 12th and 13th field after it, in ticks of
	// 1/100 s (proc(5)).
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond
}

// RSS returns the current memory of the process in MB, or 0 without /proc.
func (b *Process) RSS() float64 { return b.Memory("VmRSS:") }

// Peak returns the maximum memory of the process in MB, or 0 without /proc.
func (b *Process) Peak() float64 { return b.Memory("VmHWM:") }

// Memory returns a field of /proc/PID/status in MB, or 0 without it.
func (b *Process) Memory(field string) float64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", b.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	kb, err := Between(status, field, "kB")
	if err != nil {
		return 0
	}
	n, _ := strconv.Atoi(strings.TrimSpace(kb))
	return float64(n) / 1024
}
