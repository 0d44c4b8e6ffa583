//go:build !unix

package process

import "os/exec"

// Group does nothing where processes have no groups.
func Group(*exec.Cmd) {}

// Guard does nothing where processes have no groups.
func Guard(*exec.Cmd) (release func()) { return func() {} }

// Interrupt ends a started command.
func Interrupt(cmd *exec.Cmd) { Kill(cmd) }

// Kill ends a command, without its children. One that was not started is left alone.
func Kill(cmd *exec.Cmd) {
	if cmd.Process != nil {
		_ = cmd.Process.Kill() // it may be gone, which is what is wanted
	}
}
