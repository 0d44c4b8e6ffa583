//go:build unix

package process

import (
	"io"
	"os/exec"
	"syscall"
)

// guard waits for the end of its input, which the kernel closes when this process ends for any reason. Then it kills
// its process group, including itself. It ignores the signals that request termination of the group.
const guard = `trap "" TERM INT HUP; read -r _; kill -9 0`

// Guard ends a command that was started in a Group, and its children, when this process ends, even if it is killed.
// release kills the rest of the group and must be called when the command has ended or should end. Without a POSIX
// shell, Guard does nothing.
func Guard(cmd *exec.Cmd) (release func()) {
	g := exec.Command("sh", "-c", guard)
	g.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pgid: cmd.Process.Pid}
	held, err := g.StdinPipe()
	if err != nil || g.Start() != nil {
		return func() {}
	}
	return func() { free(g, held) }
}

// free makes the guard kill the group and waits for it. While the guard is alive, no other group can get its number.
func free(g *exec.Cmd, held io.Closer) {
	_ = held.Close()
	_ = g.Wait() // it kills itself
}
