//go:build unix

// Package process starts foreign programs so that they can be ended with all that they start, and end at the latest
// with this process. The command bench and package verdict use it. It reads none of their output.
package process

import (
	"os/exec"
	"syscall"
)

// Group has a command that is not started yet run in a process group of its own: Ctrl-C on the terminal does not reach
// it.
func Group(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// Interrupt asks a started command and its children to end.
func Interrupt(cmd *exec.Cmd) { signal(cmd, syscall.SIGTERM) }

// Kill ends a command and its children. One that was not started is left alone.
func Kill(cmd *exec.Cmd) { signal(cmd, syscall.SIGKILL) }

func signal(cmd *exec.Cmd, s syscall.Signal) {
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, s) // it may be gone, which is what is wanted
	}
}
