package bench

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// tickEvents is how many events a run of a ticking agent has, one a second.
const tickEvents = 12

// tick is what an event says: when it was written.
func tick() string { return fmt.Sprintf("at=%d;", time.Now().UnixNano()) }

// newTickAgent is a task/step agent each of whose steps takes a second.
func newTickAgent() *instantAgent {
	a := newInstantAgent()
	a.steps, a.pause, a.output = tickEvents, time.Second, func(int) string { return tick() }
	return a
}

// tickThreads is a thread/run agent that writes an event a second.
type tickThreads struct{ *instantThreads }

func newTickThreads() *tickThreads { return &tickThreads{newInstantThreads()} }

func (a *tickThreads) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/runs/stream") {
		a.instantThreads.ServeHTTP(w, r)
		return
	}
	io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "text/event-stream")
	head, rest, _ := strings.Cut(a.stream, "event: updates")
	io.WriteString(w, head)
	for range tickEvents {
		http.NewResponseController(w).Flush()
		pause(r, time.Second)
		fmt.Fprintf(w, "event: custom\ndata: {\"tick\":%q}\n\n", tick())
	}
	io.WriteString(w, "event: updates"+rest)
}

// pause is the time an agent takes, while it is wanted.
func pause(r *http.Request, d time.Duration) {
	if d == 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.Context().Done():
	}
}
