//go:build unix

// Package process ends foreign programs together with their children, at the latest when this process ends. The command
// bench and package judge use it. It does not read the output of the programs.
package process

import (
	"os/exec"
	"syscall"
)

// Group gives a command its own process group, which Ctrl-C on the terminal does not reach. Call it before the start.
func Group(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// Interrupt sends SIGTERM to a command and its children.
func Interrupt(cmd *exec.Cmd) { signal(cmd, syscall.SIGTERM) }

// Kill kills a command and its children. It does nothing before the start.
func Kill(cmd *exec.Cmd) { signal(cmd, syscall.SIGKILL) }

func signal(cmd *exec.Cmd, s syscall.Signal) {
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, s) // it may have exited already
	}
}
