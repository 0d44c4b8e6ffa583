package bench

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
)

// history reads the newest 10 checkpoints of a thread with 10 and of one with 1,000. All states have the same size: 20
// messages and a changing number.
func (b *bench) history(t *testing.T) {
	messages := make([]string, 20)
	for i := range messages {
		messages[i] = fmt.Sprintf(`{"id":"m%d","type":"human","content":"a message of some length, number %d, as people write them"}`, i, i)
	}
	first := `{"messages":[` + strings.Join(messages, ",") + `]}`
	next := func(n int) string { return fmt.Sprintf(`{"number":%d}`, n) }
	var ways []way
	for _, v := range b.versions {
		for _, n := range []int{10, 1000} {
			url := checkpoints(v.bridge, t, n, first, next) + "?limit=10"
			ways = append(ways, way{name: fmt.Sprintf("%s, of %d", v.name, n), work: benchHistory(url), bridge: v.bridge})
		}
	}
	c := b.compare(t, "history, 10 newest", 1, ways...)
	b.table.atMost("history limit=10: 1,000 checkpoints ÷ 10", b.each(func(name string) float64 {
		return c.ratio(name+", of 1000", name+", of 10", p50)
	}), "×", 1.5, 1.1)
	memory, answers := samples{}, samples{}
	for _, v := range b.versions {
		held, rate := b.longHistories(t, v.binary)
		memory.add(v.name, held)
		answers.add(v.name, rate)
	}
	b.table.atMost("history limit=1000, states of 200 kB, 8 clients: memory above idle", memory.measured(), "MB", 200, 64)
	b.table.figure("history limit=1000, states of 200 kB, 8 clients: answers a second", answers.measured(), "/s")
}

// longHistories measures 8 clients that each read a whole history of 1,000 large states: the bridge's memory above idle
// in MB, and the number of responses per second.
func (b *bench) longHistories(t *testing.T, binary string) (held, rate float64) {
	const states, size, clients = 1000, 200_000, 8
	bridge := b.fresh(t, binary)
	defer bridge.Stop()
	next := func(n int) string { return fmt.Sprintf(`{"number":%d}`, n) }
	url := checkpoints(bridge, t, states, fmt.Sprintf(`{"text":"%0*d"}`, size, 0), next) + "?limit=1000"
	client := benchClients(clients)
	idle, begin := bridge.RSS(), time.Now()
	var most float64
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			res, err := client.Get(url)
			if err != nil {
				t.Error(err)
				return
			}
			defer res.Body.Close()
			if n, err := io.Copy(io.Discard, res.Body); err != nil || n < states*size {
				t.Errorf("%d bytes, %v", n, err)
			}
		})
	}
	read := make(chan struct{})
	go func() { all.Wait(); close(read) }()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for open := true; open; {
		select {
		case <-tick.C:
			most = max(most, bridge.RSS())
		case <-read:
			open = false
		}
	}
	return most - idle, clients / time.Since(begin).Seconds()
}

// checkpoints creates a thread with n checkpoints and returns the URL of its history.
func checkpoints(b *rig.Process, t *testing.T, n int, first string, next func(int) string) string {
	t.Helper()
	client := benchClients(1)
	post := func(path, body string) []byte {
		text, err := rig.Call(t.Context(), client, http.MethodPost, b.URL+path, body)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	thread, err := rig.Between(post("/threads", `{}`), `"thread_id":"`, `"`)
	if err != nil {
		t.Fatal(err)
	}
	post("/threads/"+thread+"/state", `{"values":`+first+`}`)
	for i := 1; i < n; i++ {
		post("/threads/"+thread+"/state", `{"values":`+next(i)+`}`)
	}
	return b.URL + "/threads/" + thread + "/history"
}

func benchHistory(url string) benchRun {
	return func(ctx context.Context, c *http.Client) (time.Duration, error) {
		text, err := benchGet(ctx, c, url)
		if n := strings.Count(string(text), `"parent_checkpoint"`); err == nil && n != 10 {
			err = fmt.Errorf("%d checkpoints instead of 10: %.200s", n, text)
		}
		return 0, err
	}
}
