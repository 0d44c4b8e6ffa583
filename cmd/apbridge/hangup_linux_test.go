package main

import (
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
)

// TestAClosedTerminalStopsTheBridge checks that the SIGHUP of a closed terminal does not cause a reload, because
// nothing could end the process afterwards.
func TestAClosedTerminalStopsTheBridge(t *testing.T) {
	t.Parallel()
	tty, screen := rig.OpenPair(t)
	said := rig.NewConsole()
	cmd := exec.CommandContext(t.Context(), rig.Binary(t), "serve", "--listen", "127.0.0.1:0", "--agent", "a=http://127.0.0.1:1", "--database", filepath.Join(t.TempDir(), "a.db"))
	cmd.Env, cmd.Stdin, cmd.Stderr = append(rig.PlainEnvironment(), "APBRIDGE_SHUTDOWN_GRACE=100ms"), tty, said
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := startHearingHangups(cmd); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	said.Await(t, `"msg":"(serving)"`)
	if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	said.Await(t, `"msg":"(configuration reloaded)`)
	tty.Close()
	screen.Close()
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("it ended with %v", err)
		}
	case <-time.After(adaptertest.Patience):
		_ = cmd.Process.Kill()
		t.Error("it goes on without its terminal")
	}
}

// startHearingHangups starts a program that handles SIGHUP although this process ignores it, as below nohup: a child
// ignores the signals that its parent ignores, and has the default for those that its parent handles.
func startHearingHangups(cmd *exec.Cmd) error {
	if signal.Ignored(syscall.SIGHUP) {
		heard := make(chan os.Signal, 1)
		signal.Notify(heard, syscall.SIGHUP)
		defer signal.Stop(heard) // which makes this process ignore it again
	}
	return cmd.Start()
}
