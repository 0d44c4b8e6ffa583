package adaptertest

import (
	"errors"
	"net"
	"testing"
)

// Nowhere returns an address where no server listens until the test ends, because it is one end of a connection. A
// closed port could be assigned to another server.
func Nowhere(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("tcp", l.Addr().String())
	if err = errors.Join(err, l.Close()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c.LocalAddr().String()
}
