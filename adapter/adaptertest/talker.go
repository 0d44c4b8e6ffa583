package adaptertest

import (
	"io"
	"net"
	"testing"
)

// Talker returns the address of a server that sends said to every client that has begun a request, and then sends
// nothing more.
func Talker(t testing.TB, said string) string {
	t.Helper()
	return accepting(t, func(c net.Conn) { tell(c, said) })
}

// Silence returns the address of a server that accepts connections and sends nothing.
func Silence(t testing.TB) string {
	t.Helper()
	return accepting(t, func(net.Conn) {})
}

// accepting returns an address. Its connections are passed to meet, and closed when the test ends.
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

// tell writes after the beginning of a request and reads the rest, because closing earlier would reset the connection.
func tell(c net.Conn, said string) {
	_, _ = c.Read(make([]byte, 4096))
	_, _ = io.WriteString(c, said)
	_ = c.(*net.TCPConn).CloseWrite()
	_, _ = io.Copy(io.Discard, c)
}
