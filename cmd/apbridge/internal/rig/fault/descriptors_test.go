package fault

import (
	"bufio"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/proxy/store/storetest"
)

// TestFewDescriptors limits a process to 128 open files and opens more connections than that. It refuses everything
// except operational requests, logs once when it has no descriptors left, and continues with the active run after the
// clients have left.
func TestFewDescriptors(t *testing.T) {
	t.Parallel()
	g := rig.NewGate(adaptertest.NewStepAgent(adaptertest.Plain), rig.StepPosts, 2)
	d := rig.NewKillable(t, storetest.DSN(t), g, "", "GOMEMLIMIT=300MiB")
	d.Files = 128
	d.Sure("POST", "/threads", `{"thread_id":"`+strings.TrimPrefix(rig.CrashThread, "/threads/")+`"}`).OK()
	run := rig.CrashThread + "/runs/" + d.Sure("POST", rig.CrashThread+"/runs", `{"assistant_id":"agent",`+rig.SaysHi+`}`).OK().Text("run_id")
	g.Await(t)
	checkMemoryLimit(t, string(d.Get("/metrics").Body))
	l := d.Serving()
	address := strings.TrimPrefix(l.URL, "http://")

	var open []net.Conn
	defer func() { leaveAll(open) }()
	for range 70 {
		open = append(open, idleConnection(t, address))
	}
	refused := d.Sure("POST", "/threads", `{}`).Is(http.StatusServiceUnavailable)
	if refused.Header.Get("Retry-After") == "" || refused.Text("code") != "overloaded" {
		t.Errorf("refused with %s %s", refused.Header.Get("Retry-After"), refused.Body)
	}
	d.Sure("POST", "/ap/v1/agent/tasks", `{"input":"hi"}`).Is(http.StatusServiceUnavailable)
	for _, path := range []string{"/healthz", "/readyz", "/metrics"} {
		d.Get(path)
	}

	for range 100 { // they wait in the listener's queue
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, conn)
	}
	l.Said.Await(t, `(too many open files)`)
	leaveAll(open)
	rig.Eventually(t, "the process accepts requests again", func() bool {
		a, err := d.Send(l.URL+"/threads", "POST", `{}`)
		return err == nil && a.Status == http.StatusOK
	})
	g.Open()
	if joined := d.Get(run + "/join"); joined.At("__error__") != nil {
		t.Errorf("the active run: %s", joined.Body)
	}
	if next := d.Sure("POST", rig.CrashThread+"/runs/wait", `{"assistant_id":"agent",`+rig.SaysMore+`}`).OK(); next.At("__error__") != nil {
		t.Errorf("the next run: %s", next.Body)
	}
	if n := strings.Count(l.Said.String(), "Accept error"); n > 2 {
		t.Errorf("%d log lines about refused connections, want 1", n)
	}
}

// idleConnection returns a connection on which a request was answered.
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

// checkMemoryLimit checks that GOMEMLIMIT is honoured together with the program's GOGC.
func checkMemoryLimit(t *testing.T, metrics string) {
	t.Helper()
	if !rig.Says(metrics, "\ngo_gc_gomemlimit_bytes 3.145728e+08\n", "\ngo_gc_gogc_percent 50\n") {
		t.Errorf("GOMEMLIMIT is ignored:\n%s", metrics)
	}
}
