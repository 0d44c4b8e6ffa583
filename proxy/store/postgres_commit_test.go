package store_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/url"
	"sync/atomic"
	"testing"

	"github.com/apbridge/apbridge/proxy/store"
	"github.com/apbridge/apbridge/proxy/store/storetest"
)

// wire stands between the store and its server. Armed, it lets a commit happen
// and cuts the connection instead of passing the answer on.
type wire struct {
	armed atomic.Bool
	cuts  atomic.Int64
}

// through starts the wire and returns the URL that leads over it.
func (w *wire) through(t *testing.T, dsn string) string {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	server := u.Host
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go w.carry(client, server)
		}
	}()
	u.Host = l.Addr().String()
	u.RawQuery += "&sslmode=disable" // so that the wire can read
	return u.String()
}

func (w *wire) carry(client net.Conn, server string) {
	defer client.Close()
	up, err := net.Dial("tcp", server)
	if err != nil {
		return
	}
	defer up.Close()
	go func() {
		_, _ = io.Copy(up, client)
		_ = up.Close()
	}()
	buf := make([]byte, 64<<10)
	for {
		n, err := up.Read(buf)
		if err != nil {
			return
		}
		if bytes.Contains(buf[:n], []byte("COMMIT\x00")) && w.armed.CompareAndSwap(true, false) {
			w.cuts.Add(1)
			return
		}
		if _, err := client.Write(buf[:n]); err != nil {
			return
		}
	}
}

// C9: the commit took place, and its answer never came.
func TestC9CommitWithoutAnswerIsAskedFor(t *testing.T) {
	t.Parallel()
	var w wire
	a := openAt(t, w.through(t, storetest.Schema(t)), store.Options{})
	c := a.create(newThreadRun())
	for i := range 10 {
		w.armed.Store(true)
		a.append(c, token(fmt.Sprint(i)))
	}
	if n := w.cuts.Load(); n != 10 {
		t.Fatalf("%d commits were cut", n)
	}
	evs, err := a.Events(a.ctx, c.Thread.ID, "", 1, 0)
	a.ok(err)
	if len(evs) != 10 {
		t.Fatalf("%d events of 10: one was lost, or written twice", len(evs))
	}
}
