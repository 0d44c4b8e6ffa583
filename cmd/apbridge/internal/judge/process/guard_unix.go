//go:build unix

package process

import (
	"io"
	"os/exec"
	"syscall"
)

// guard waits for the end of its input, which comes with the end of the process that holds the other end of it, however
// that ends. Then it kills its process group, itself among it. It does not heed the signals that ask a group to end.
const guard = `trap "" TERM INT HUP; read -r _; kill -9 0`

// Guard sees to it that a started command and its children, of a Group, end at the latest with this process: also when
// it is killed, panics or ends at once. Release ends the guard, and what is left of the group; it must be called when
// the command has ended or is to end. Without a POSIX shell nothing is guarded.
func Guard(cmd *exec.Cmd) (release func()) {
	g := exec.Command("sh", "-c", guard)
	g.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pgid: cmd.Process.Pid}
	held, err := g.StdinPipe()
	if err != nil || g.Start() != nil {
		return func() {}
	}
	return func() { free(g, held) }
}

// free has the guard kill the group, and waits for it: while it lives, no other group can have the number of this one.
func free(g *exec.Cmd, held io.Closer) {
	_ = held.Close()
	_ = g.Wait() // it kills itself
}
