package bench

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
)

// A run of the token agent: tokenCount tokens, one every tokenPause.
const (
	tokenCount = 60
	tokenPause = 50 * time.Millisecond
)

// newTokenThreads returns a thread/run agent that streams a message token by token.
func newTokenThreads() *pacedThreads {
	return &pacedThreads{newInstantThreads(), tokenCount, tokenPause,
		"event: messages\ndata: [{\"id\":\"m1\",\"type\":\"AIMessageChunk\",\"content\":%q},{\"langgraph_node\":\"work\"}]\n\n"}
}

// tokens measures many clients that receive the tokens of one run over the streaming protocol. The delay is the time
// between the agent's write and the client's read. For comparison, as many clients each receive a separate stream of
// the agent through a bare proxy; the agent writes all of those.
func (b *bench) tokens(t *testing.T) {
	for _, clients := range []int{1, 100, 1000} {
		of := map[string]samples{}
		for _, name := range []string{"p50", "p99", "bridge", "proxy", "normal"} {
			of[name] = samples{}
		}
		for range benchRounds {
			proxy := b.watched(t, clients, b.peers.tokenHop, nil)
			of["proxy"].add(benchMeasured, p50Of(proxy))
			of["normal"].add(benchMeasured, p50Of(b.watched(t, clients, b.normal.URL, startTokens)))
			for _, v := range b.versions {
				seen := b.watched(t, clients, v.bridge.URL, startTokens)
				of["bridge"].add(v.name, p50Of(seen))
				of["p50"].add(v.name, p50Of(seen)/p50Of(proxy))
				of["p99"].add(v.name, ms(percentile(seen, 0.99))/ms(percentile(proxy, 0.99)))
			}
		}
		what := fmt.Sprintf("tokens to %d clients, late by ", clients)
		if clients == 100 {
			b.table.atMost(what+"p50 ÷ bare proxy", of["p50"].measured(), "×", 1.5, 1.5)
			b.table.atMost(what+"p99 ÷ bare proxy", of["p99"].measured(), "×", 1.5, 1.5)
		} else {
			b.table.figure(what+"p50 ÷ bare proxy", of["p50"].measured(), "×")
			b.table.figure(what+"p99 ÷ bare proxy", of["p99"].measured(), "×")
		}
		b.table.figure(what+"p50", of["bridge"].measured(), "ms")
		b.table.figure(what+"p50, normal instead of full", of["normal"].measured(), "ms")
		b.table.figure(what+"p50 through the bare proxy", of["proxy"].measured(), "ms")
	}
}

func p50Of(late []time.Duration) float64 { return ms(percentile(late, 0.5)) }

// watched lets clients follow a run and returns the sorted delays of its tokens for all clients. start, which may be
// nil, begins the run when all clients are listening.
func (b *bench) watched(t *testing.T, clients int, base string, start func(ctx context.Context, c *http.Client, thread string) error) []time.Duration {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	client, thread := benchClients(clients+1), base+"/threads/"+uuid.NewString()
	defer client.CloseIdleConnections()
	url, body := thread+"/runs/stream", "{}"
	if start != nil {
		url, body = thread+"/stream/events", `{"channels":["messages"]}`
	}
	var seen ticks
	var listening, done sync.WaitGroup
	for range clients {
		listening.Add(1)
		done.Go(func() {
			res, err := benchOpen(ctx, client, url, body)
			listening.Done()
			if err != nil {
				seen.add(nil, err)
				return
			}
			defer res.Body.Close()
			seen.add(readTokens(res.Body))
			if start == nil {
				io.Copy(io.Discard, res.Body) // the agent's stream ends by itself
			}
		})
	}
	if listening.Wait(); start != nil {
		if err := start(ctx, client, thread); err != nil {
			t.Fatal(err)
		}
	}
	done.Wait()
	if want := clients * tokenCount; len(seen.seen) != want || seen.err != nil {
		t.Errorf("%d clients of %s saw %d of %d tokens: %v", clients, base, len(seen.seen), want, seen.err)
	}
	return seen.late(func(time.Time) bool { return true })
}

func startTokens(ctx context.Context, c *http.Client, thread string) error {
	return benchPost(ctx, c, thread+"/commands", `{"id":1,"method":"run.start","params":{"assistant_id":"tokens","input":{}}}`, &struct{}{})
}

// readTokens reads a stream until all tokens of a run have arrived. At the end the bridge repeats the whole text, which
// does not count as a token.
func readTokens(r io.Reader) (seen []seenTick, err error) {
	lines := bufio.NewScanner(r)
	for len(seen) < tokenCount && lines.Scan() {
		if bytes.HasPrefix(lines.Bytes(), []byte("data:")) && !bytes.Contains(lines.Bytes(), []byte("content-block-finish")) {
			seen = appendTick(seen, lines.Bytes())
		}
	}
	return seen, lines.Err()
}
