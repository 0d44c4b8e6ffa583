package bench

import (
	"bufio"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
)

// Peers of the benchmark are separate processes, as in real use. An agent in the driver's process would answer a direct
// call without waking another process. Every setup with an additional process would then look slower than it is.

// peerVariable is the variable with the role of a process started by benchPeer: "agent", "paced", "threads", "ticks",
// "tickthreads", "tokens", or "hop URL".
const peerVariable = "APBRIDGE_BENCH_PEER"

// TestBenchPeer is the process that benchPeer starts. It serves until its standard input closes, which happens when the
// benchmark's process ends for any reason.
func TestBenchPeer(t *testing.T) {
	kind, target, _ := strings.Cut(os.Getenv(peerVariable), " ")
	if kind == "" {
		t.Skip("serves the benchmark; run it with: make bench")
	}
	srv := httptest.NewServer(peerHandler(t, kind, target))
	defer srv.Close()
	if _, err := os.Stdout.WriteString("listening " + srv.URL + "\n"); err != nil {
		t.Fatal(err)
	}
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
}

func peerHandler(t *testing.T, kind, target string) http.Handler {
	switch kind {
	case "agent":
		return newInstantAgent()
	case "paced":
		return newPacedAgent()
	case "threads":
		return newInstantThreads()
	case "ticks":
		return newTickAgent()
	case "tickthreads":
		return newTickThreads()
	case "tokens":
		return newTokenThreads()
	}
	to, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.Transport = pooledTransport()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Otherwise the server reads the rest of the body before it responds. The transport, which still expects the
		// end of the body, takes that for a failure and drops the response (net/http).
		if err := http.NewResponseController(w).EnableFullDuplex(); err != nil {
			panic(err)
		}
		proxy.ServeHTTP(w, r)
	})
}

// benchPeers holds the URLs of all peers.
type benchPeers struct{ agent, paced, threads, ticks, tickThreads, tokens, hop, tokenHop string }

func startPeers(t *testing.T) benchPeers {
	agent, tokens := benchPeer(t, "agent"), benchPeer(t, "tokens")
	return benchPeers{
		agent: agent, paced: benchPeer(t, "paced"), threads: benchPeer(t, "threads"), ticks: benchPeer(t, "ticks"),
		tickThreads: benchPeer(t, "tickthreads"), tokens: tokens, hop: benchPeer(t, "hop "+agent), tokenHop: benchPeer(t, "hop "+tokens),
	}
}

// benchPeer starts a peer and returns its URL.
func benchPeer(t *testing.T, kind string) string {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestBenchPeer$", "-test.timeout=30m")
	cmd.Env = append(rig.PlainEnvironment(), peerVariable+"="+kind)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if url, ok := strings.CutPrefix(lines.Text(), "listening "); ok {
			return url
		}
	}
	t.Fatalf("the %s did not start", kind)
	return ""
}
