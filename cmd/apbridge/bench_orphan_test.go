//go:build unix

package main

import (
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
)

// cling is an agent that resists its end: it ignores all signals that can be ignored, and has a child that does the
// same. Both keep a connection to a test open as long as they live.
func cling(t *testing.T) {
	signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	conn, err := net.Dial("tcp", os.Getenv("BENCH_CLING"))
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv("BENCH_CLING_CHILD") != "" {
		_, _ = io.Copy(io.Discard, conn)
		return
	}
	child := exec.Command(os.Args[0], "-test.run=^TestChildAgent$")
	child.Env = append(os.Environ(), "BENCH_CLING_CHILD=1")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, conn)
}

// TestBenchLeavesNoAgent checks that the started agent and its descendants end, however the command ends.
func TestBenchLeavesNoAgent(t *testing.T) {
	t.Parallel()
	binary := rig.Binary(t)
	for name, end := range map[string]func(t *testing.T, bench *os.Process, ended <-chan struct{}){
		"Ctrl-C twice":                          twice(os.Interrupt),
		"SIGTERM twice":                         twice(syscall.SIGTERM),
		"SIGTERM once":                          once(syscall.SIGTERM),
		"ended by its runtime, as a panic does": once(syscall.SIGQUIT),
		"killed":                                once(syscall.SIGKILL),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			bench := exec.Command(binary, append([]string{"bench", "--keep", filepath.Join(t.TempDir(), "kept")}, childAgent()...)...)
			bench.Env = append(rig.PlainEnvironment(), "BENCH_CHILD=clings", "BENCH_CLING="+l.Addr().String(), "TMPDIR="+t.TempDir())
			if err := bench.Start(); err != nil {
				t.Fatal(err)
			}
			agent, child := accepted(t, l), accepted(t, l)
			ended := make(chan struct{})
			go func() { _ = bench.Wait(); close(ended) }()
			end(t, bench.Process, ended)
			<-ended
			for who, conn := range map[string]net.Conn{"the agent": agent, "its child": child} {
				isGone(t, who, conn)
			}
		})
	}
}

// accepted returns the next connection, which stays open until the test ends.
func accepted(t *testing.T, l net.Listener) net.Conn {
	t.Helper()
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// isGone waits for the end of a connection, and so of the process at its other end.
func isGone(t *testing.T, who string, conn net.Conn) {
	t.Helper()
	_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
	if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("%s lives on: %v", who, err)
	}
}

func once(s os.Signal) func(*testing.T, *os.Process, <-chan struct{}) {
	return func(t *testing.T, bench *os.Process, _ <-chan struct{}) {
		t.Helper()
		if err := bench.Signal(s); err != nil {
			t.Error(err)
		}
	}
}

// twice sends a signal until the process has ended, because a second one too soon after the first does not count.
func twice(s os.Signal) func(*testing.T, *os.Process, <-chan struct{}) {
	return func(_ *testing.T, bench *os.Process, ended <-chan struct{}) {
		again := time.NewTicker(bounce / 2)
		defer again.Stop()
		for {
			_ = bench.Signal(s) // it may have ended
			select {
			case <-ended:
				return
			case <-again.C:
			}
		}
	}
}
