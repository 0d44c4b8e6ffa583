//go:build !unix

package process

import "os/exec"

// Group does nothing: processes have no groups here.
func Group(*exec.Cmd) {}

// Guard does nothing: processes have no groups here.
func Guard(*exec.Cmd) (release func()) { return func() {} }

// Interrupt kills a command.
func Interrupt(cmd *exec.Cmd) { Kill(cmd) }

// Kill kills a command without its children. It does nothing before the start.
func Kill(cmd *exec.Cmd) {
	if cmd.Process != nil {
		_ = cmd.Process.Kill() // it may have ended already
	}
}
