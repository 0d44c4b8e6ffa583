package main

import (
	"net"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter/adaptertest"
)

// told is a service manager's socket, and yields each message.
func told(t *testing.T) (socket string, messages <-chan string) {
	t.Helper()
	socket = filepath.Join(t.TempDir(), "notify")
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Skipf("no socket can be had: %v", err)
	}
	t.Cleanup(func() { _ = c.Close() })
	all := make(chan string, 1024)
	go func() {
		defer close(all)
		b := make([]byte, 4096)
		for {
			n, err := c.Read(b)
			if err != nil {
				return
			}
			all <- string(b[:n])
		}
	}()
	return socket, all
}

// next returns the next message, with or without signs of life.
func next(t *testing.T, messages <-chan string, signs bool) string {
	t.Helper()
	late := time.After(adaptertest.Patience)
	for {
		select {
		case m := <-messages:
			if signs || m != "WATCHDOG=1" {
				return m
			}
		case <-late:
			t.Fatal("nothing is told")
		}
	}
}

// TestTheSupervisorIsTold checks the messages that the bridge is ready, reloads, whether or not that succeeds, is
// alive, and stops.
func TestTheSupervisorIsTold(t *testing.T) {
	t.Parallel()
	socket, messages := told(t)
	const agent = "agents: {a: {url: 'http://127.0.0.1:1'}}\n"
	r := startReloaded(t, agent, "NOTIFY_SOCKET="+socket, "WATCHDOG_USEC=20000")
	if m := next(t, messages, false); m != "READY=1" {
		t.Errorf("first %q", m)
	}
	for _, text := range []string{agent + "limits: {max_json_depth: 7}\n", "broken: [\n"} {
		r.write(text)
		if err := r.cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		if m := next(t, messages, false); !strings.HasPrefix(m, "RELOADING=1\nMONOTONIC_USEC=") || strings.HasSuffix(m, "=0") {
			t.Errorf("at a reload %q", m)
		}
		if m := next(t, messages, false); m != "READY=1" {
			t.Errorf("after a reload %q", m)
		}
	}
	for next(t, messages, true) != "WATCHDOG=1" {
	}
	if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if m := next(t, messages, false); m != "STOPPING=1" {
		t.Errorf("at the end %q", m)
	}
}
