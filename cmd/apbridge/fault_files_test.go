package main

import (
	"bufio"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/proxy/store/storetest"
)

// TestD5_FewDescriptors: a process that may have 128 files open, in front of clients
// with more connections than that. First it refuses what is not a watcher's; with no
// descriptor left it says so once; and when the clients have gone it goes on, with
// the run that was under way, as if nothing had been.
func TestD5_FewDescriptors(t *testing.T) {
	t.Parallel()
	g := newGate(adaptertest.NewStepAgent(adaptertest.Plain), stepPosts, 2)
	d := newDoomed(t, storetest.DSN(t), g, "", "GOMEMLIMIT=300MiB")
	d.files = 128
	d.sure("POST", "/threads", `{"thread_id":"`+strings.TrimPrefix(crashThread, "/threads/")+`"}`).ok()
	run := crashThread + "/runs/" + d.sure("POST", crashThread+"/runs", `{"assistant_id":"agent",`+saysHi+`}`).ok().text("run_id")
	g.await(t)
	checkMemoryLimit(t, string(d.get("/metrics").body))
	l := d.serving()
	address := strings.TrimPrefix(l.url, "http://")

	var open []net.Conn
	defer func() { leaveAll(open) }()
	for range 70 {
		open = append(open, idleConnection(t, address))
	}
	refused := d.sure("POST", "/threads", `{}`).is(http.StatusServiceUnavailable)
	if refused.header.Get("Retry-After") == "" || refused.text("code") != "overloaded" {
		t.Errorf("refused with %s %s", refused.header.Get("Retry-After"), refused.body)
	}
	d.sure("POST", "/ap/v1/agent/tasks", `{"input":"hi"}`).is(http.StatusServiceUnavailable)
	for _, path := range []string{"/healthz", "/readyz", "/metrics"} {
		d.get(path)
	}

	for range 100 { // they wait in the listener's queue
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, conn)
	}
	l.said.await(t, `(too many open files)`)
	leaveAll(open)
	eventually(t, "it takes requests again", func() bool {
		a, err := d.send(l.url+"/threads", "POST", `{}`)
		return err == nil && a.status == http.StatusOK
	})
	g.open()
	if joined := d.get(run + "/join"); joined.at("__error__") != nil {
		t.Errorf("the run that was under way: %s", joined.body)
	}
	if next := d.sure("POST", crashThread+"/runs/wait", `{"assistant_id":"agent",`+saysMore+`}`).ok(); next.at("__error__") != nil {
		t.Errorf("the next run: %s", next.body)
	}
	if n := strings.Count(l.said.String(), "Accept error"); n > 2 {
		t.Errorf("it said %d times that it cannot accept connections", n)
	}
}

// idleConnection is one on which a request was answered.
func idleConnection(t *testing.T, address string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write([]byte("GET /healthz HTTP/1.1\r\nHost: " + address + "\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("/healthz: %v %v", res, err)
	}
	return conn
}

func leaveAll(list []net.Conn) {
	for _, conn := range list {
		_ = conn.Close()
	}
}

// checkMemoryLimit: GOMEMLIMIT is honoured beside the GOGC of the program.
func checkMemoryLimit(t *testing.T, metrics string) {
	t.Helper()
	if !says(metrics, "\ngo_gc_gomemlimit_bytes 3.145728e+08\n", "\ngo_gc_gogc_percent 50\n") {
		t.Errorf("GOMEMLIMIT is not obeyed:\n%s", metrics)
	}
}
