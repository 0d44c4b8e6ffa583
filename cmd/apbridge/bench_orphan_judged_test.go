//go:build unix

package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
)

// clinging is an agent's program that ignores all signals that can be ignored, prints that it runs, and never ends.
const clinging = `import os, signal, socket
for s in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(s, signal.SIG_IGN)
held = socket.create_connection(("127.0.0.1", %s))
if os.fork() == 0:
    held = socket.create_connection(("127.0.0.1", %s))
while True:
    held.recv(1)
`

// TestBenchLeavesNoJudgedProgram checks that a judged program and its child end with the command, even if that is
// killed.
func TestBenchLeavesNoJudgedProgram(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("python3 is not installed")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, "custom_python"), 0o700); err != nil {
		t.Fatal(err)
	}
	rig.WriteFile(t, filepath.Join(folder, "data.json"), `{"name":"Cling","category":["x"],"task":"cling","cutoff":60,"ground":{"answer":"","should_contain":["x"],`+
		`"should_not_contain":[],"files":["cling.py"],"eval":{"type":"python"}},"info":{"difficulty":"basic","description":"","side_effects":[]}}`)
	rig.WriteFile(t, filepath.Join(folder, "custom_python", "cling.py"), fmt.Sprintf(clinging, port, port))
	bench := exec.Command(rig.Binary(t), append([]string{"bench", "--challenges", folder, "--python-timeout", "10m"}, childAgent()...)...)
	bench.Env = append(rig.PlainEnvironment(), "BENCH_CHILD=serves", "TMPDIR="+t.TempDir())
	if err := bench.Start(); err != nil {
		t.Fatal(err)
	}
	judged := map[string]net.Conn{"the program": accepted(t, l), "its child": accepted(t, l)}
	if err := bench.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = bench.Wait()
	for who, conn := range judged {
		isGone(t, who, conn)
	}
}
