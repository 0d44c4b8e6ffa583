package fault

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/config"
	"github.com/google/go-cmp/cmp"
)

// gatedAgent is a step agent that begins when its gate opens and then returns steps of a given size.
func gatedAgent(may <-chan struct{}, steps, size int) http.Handler {
	m, n := http.NewServeMux(), atomic.Int64{}
	m.Handle("/", drainingAgent())
	m.HandleFunc("POST /ap/v1/agent/tasks/{id}/steps", func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-may:
		case <-r.Context().Done():
			return
		}
		at := n.Add(1)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"task_id":"t","step_id":"s%d","name":"","status":"completed","output":"%0*d","additional_output":{},"artifacts":[],"is_last":%t}`, at, size, at, at == int64(steps))
	})
	return m
}

// rawReader opens a stream on a raw connection and only reads its header.
func rawReader(t *testing.T, b *rig.Bridge, path, version string) (net.Conn, *bufio.Reader) {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(b.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(conn, "GET %s HTTP/%s\r\nHost: localhost\r\nAccept-Encoding: gzip, br\r\n\r\n", path, version)
	from := bufio.NewReaderSize(conn, 16)
	for {
		line, err := from.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if line == "\r\n" {
			return conn, from
		}
	}
}

func inUse() float64 {
	runtime.GC()
	runtime.GC() // the contents of pools survive one collection
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc + m.StackInuse)
}

// TestStreamsWithoutReaders checks that many streams waiting for an agent need little memory. When the agent continues
// and no client reads, the run ends as usual and a new client is served. A reader that reads a little and disconnects
// gets the rest with its cursor (also B4 and B6). APBRIDGE_TEST_READERS sets the number of streams, for instance
// 10,000. It is not parallel because memory belongs to the whole process.
func TestStreamsWithoutReaders(t *testing.T) {
	readers := 500
	if n, err := strconv.Atoi(os.Getenv("APBRIDGE_TEST_READERS")); err == nil {
		readers = n
	}
	const steps, size, aStream = 20, 100_000, 128 << 10
	may := make(chan struct{})
	b := rig.InFrontOf(t, adaptertest.Serve(t, gatedAgent(may, steps, size)).URL, func(a *config.Agent) { a.Dialect = "taskstep" })
	thread := b.Thread()
	run := thread + "/runs/" + b.Post(thread+"/runs", `{"assistant_id":"agent","stream_mode":["updates"],`+rig.SaysHi+`}`).OK().Text("run_id")
	idle := inUse()
	_, slow := rawReader(t, b, run+"/stream?stream_mode=updates", "1.1")
	for range readers - 1 {
		rawReader(t, b, run+"/stream?stream_mode=updates", "1.1")
	}
	if open := (inUse() - idle) / float64(readers); open > aStream {
		t.Errorf("B6: an idle stream needs %.0f bytes", open)
	}
	close(may)
	if got := b.Get(run + "/join").OK(); !strings.Contains(string(got.Body), fmt.Sprintf("%0*d", size, steps)) {
		t.Errorf("the run ended with %.200s", got.Body)
	}
	if held := inUse() - idle; held > float64(readers)*aStream+steps*size*10 {
		t.Errorf("B5: %d readers that do not read hold %.0f bytes", readers, held)
	}
	_, all := b.Stream("GET", run+"/stream?stream_mode=updates", "", 0, "Last-Event-ID", "-1")
	last := ""
	for last == "" { // B4: as far as the id of its first frame
		line, err := slow.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		last, _ = strings.CutPrefix(strings.TrimSpace(line), "id: ")
		if !strings.HasPrefix(line, "id: ") {
			last = ""
		}
	}
	at := 0
	for at < len(all) && all[at].ID != last {
		at++
	}
	_, rest := b.Stream("GET", run+"/stream?stream_mode=updates", "", 0, "Last-Event-ID", last)
	if at == len(all) {
		t.Fatalf("B4: the slow reader received the id %q, which is not in the full stream", last)
	}
	if diff := cmp.Diff(all[at+1:], rest); diff != "" {
		t.Errorf("B4: the rest from %q (-want +got):\n%.500s", last, diff)
	}
}

// TestStreamsForOldClients checks that an HTTP/1.0 client gets the same frames, neither compressed nor chunked, until
// the connection ends.
func TestStreamsForOldClients(t *testing.T) {
	t.Parallel()
	for name, peer := range rig.EitherKind() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := rig.InFront(t, peer())
			run, frames := streamed(t, b)
			res, again := b.Stream("GET", run+"/stream", "", 0, "Last-Event-ID", "-1", "Accept-Encoding", "gzip, deflate, br, zstd")
			if got := res.Header.Get("Content-Encoding"); got != "" || res.Header.Get("Content-Type") != "text/event-stream" || len(again) != len(frames) {
				t.Errorf("B8: asked for gzip: encoding %q, type %q, %d frames of %d", got, res.Header.Get("Content-Type"), len(again), len(frames))
			}
			conn, err := net.Dial("tcp", strings.TrimPrefix(b.URL, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			fmt.Fprintf(conn, "GET %s/stream HTTP/1.0\r\nLast-Event-ID: -1\r\n\r\n", run)
			text, err := io.ReadAll(conn)
			if err != nil {
				t.Fatal(err)
			}
			head, body, _ := strings.Cut(string(text), "\r\n\r\n")
			if !strings.Contains(head, " 200 ") || strings.Contains(strings.ToLower(head), "chunked") {
				t.Errorf("B9: response to HTTP/1.0: %s", head)
			}
			old, err := rig.ReadFrames(strings.NewReader(body), 0)
			if diff := cmp.Diff(frames, old); err != nil || diff != "" {
				t.Errorf("B9: HTTP/1.0, %v (-want +got):\n%s", err, diff)
			}
			part, err := rig.ReadFrames(strings.NewReader(body), 2) // such a client cannot distinguish this from a broken connection
			if err != nil {
				t.Fatal(err)
			}
			_, rest := b.Stream("GET", run+"/stream", "", 0, "Last-Event-ID", part[1].ID)
			if diff := cmp.Diff(frames[2:], rest); diff != "" {
				t.Errorf("B9: from the second frame on (-want +got):\n%s", diff)
			}
		})
	}
}

// TestHalfOpenConnections checks that many connections with unfinished headers do not affect others.
func TestHalfOpenConnections(t *testing.T) {
	t.Parallel()
	b := rig.InFront(t, adaptertest.NewStepAgent(adaptertest.Plain))
	for i := range 500 {
		conn, err := net.Dial("tcp", strings.TrimPrefix(b.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if i%2 == 0 { // the others say nothing at all
			fmt.Fprint(conn, "POST /runs/wait HTTP/1.1\r\nHost: local")
		}
	}
	if got := b.Post("/runs/wait", `{"agent_id":"agent",`+rig.SaysHi+`}`).OK(); got.Text("run.status") != "success" {
		t.Errorf("with half-open connections a run ended with %s", got.Body)
	}
}
