package adaptertest

import (
	"io"
	"net"
	"testing"
)

// Talker returns an address where each caller is told said once it has begun its request, whatever that asks, and
// nothing after it.
func Talker(t testing.TB, said string) string {
	t.Helper()
	return accepting(t, func(c net.Conn) { tell(c, said) })
}

// Silence returns an address that accepts connections and sends nothing.
func Silence(t testing.TB) string {
	t.Helper()
	return accepting(t, func(net.Conn) {})
}

// accepting is an address whose connections are given to meet, and are closed when the test ends.
func accepting(t testing.TB, meet func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { _ = c.Close() })
			go meet(c)
		}
	}()
	return l.Addr().String()
}

// tell writes after the beginning of a request, and reads what follows: closed before, the connection would be reset.
func tell(c net.Conn, said string) {
	_, _ = c.Read(make([]byte, 4096))
	_, _ = io.WriteString(c, said)
	_ = c.(*net.TCPConn).CloseWrite()
	_, _ = io.Copy(io.Discard, c)
}
