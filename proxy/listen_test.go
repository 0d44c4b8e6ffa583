package proxy

import (
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
)

// TestCannotListen checks that the error for each cause has its own advice and names the key to change.
func TestCannotListen(t *testing.T) {
	t.Parallel()
	for cause, says := range map[syscall.Errno]string{
		syscall.EACCES:        "admin: cannot listen on 127.0.0.1:80: permission denied. Set admin to a port from 1024 on, or give the process the right",
		syscall.EADDRNOTAVAIL: "Set admin to an address of this machine",
		syscall.EADDRINUSE:    "address already in use. Set admin to another address, or free this one",
	} {
		err := cannotListen("admin", "127.0.0.1:80", &net.OpError{Op: "listen", Err: os.NewSyscallError("bind", cause)})
		if !strings.Contains(err.Error(), says) {
			t.Errorf("%v: %v", cause, err)
		}
	}
}
