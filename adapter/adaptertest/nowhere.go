package adaptertest

import (
	"errors"
	"net"
	"testing"
)

// Nowhere returns an address at which no server listens, and none will before the test ends: it is one end of a
// connection. A port that was merely let go may be the next server's.
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
