//go:build unix && !solaris && !illumos && !aix

package transport

import "syscall"

// canTellStale: without it a call could be lost on a connection that the peer has
// closed long ago.
const canTellStale = true

// stale tells whether the peer has closed the connection, or said something that
// nobody has asked for.
func (c *conn) stale() bool {
	if c.raw == nil {
		return true
	}
	quiet := false
	err := c.raw.Read(func(fd uintptr) bool {
		var one [1]byte
		_, _, err := syscall.Recvfrom(int(fd), one[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		quiet = err == syscall.EAGAIN || err == syscall.EWOULDBLOCK
		return true
	})
	return err != nil || !quiet
}
