package main_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// history reads the newest 10 checkpoints of a thread with 10 and of one with
// 1,000, whose states are of one size: 20 messages and a number that changes.
func (b *bench) history(t *testing.T) {
	messages := make([]string, 20)
	for i := range messages {
		messages[i] = fmt.Sprintf(`{"id":"m%d","type":"human","content":"a message of some length, number %d, as people write them"}`, i, i)
	}
	first := `{"messages":[` + strings.Join(messages, ",") + `]}`
	next := func(n int) string { return fmt.Sprintf(`{"number":%d}`, n) }
	short, long := b.checkpoints(t, 10, first, next), b.checkpoints(t, 1000, first, next)
	c := b.compare(t, "history, 10 newest", 1, way{"of 10", benchHistory(short), b.full}, way{"of 1,000", benchHistory(long), b.full})
	b.table.atMost("history limit=10: 1,000 checkpoints ÷ 10", c.ratio("of 1,000", "of 10", p50), "×", 1.5, 1.1)
}

// checkpoints makes a thread with n checkpoints and returns its history's URL.
func (b *bench) checkpoints(t *testing.T, n int, first string, next func(int) string) string {
	t.Helper()
	client := benchClients(1)
	post := func(path, body string) []byte {
		text, err := benchCall(t.Context(), client, http.MethodPost, b.full.url+path, body)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	thread, err := between(post("/threads", `{}`), `"thread_id":"`, `"`)
	if err != nil {
		t.Fatal(err)
	}
	post("/threads/"+thread+"/state", `{"values":`+first+`}`)
	for i := 1; i < n; i++ {
		post("/threads/"+thread+"/state", `{"values":`+next(i)+`}`)
	}
	return b.full.url + "/threads/" + thread + "/history?limit=10"
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
