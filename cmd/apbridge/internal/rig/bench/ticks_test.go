package bench

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// tickEvents is the number of events in a run of a ticking agent, one per second.
const tickEvents = 12

// tick is the content of an event: the time at which it was written.
func tick() string { return fmt.Sprintf("at=%d;", time.Now().UnixNano()) }

// newTickAgent returns a task/step agent whose steps take a second each.
func newTickAgent() *instantAgent {
	a := newInstantAgent()
	a.steps, a.pause, a.output = tickEvents, time.Second, func(int) string { return tick() }
	return a
}

// newTickThreads returns a thread/run agent that writes one event per second.
func newTickThreads() *pacedThreads {
	return &pacedThreads{newInstantThreads(), tickEvents, time.Second, "event: custom\ndata: {\"tick\":%q}\n\n"}
}

// pacedThreads is a thread/run agent whose runs write a number of frames before the first update, with a pause before
// each. A frame contains the time at which it was written.
type pacedThreads struct {
	*instantThreads
	frames int
	every  time.Duration
	frame  string // with %q for what it says
}

func (a *pacedThreads) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/runs/stream") {
		a.instantThreads.ServeHTTP(w, r)
		return
	}
	io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "text/event-stream")
	head, rest, _ := strings.Cut(a.stream, "event: updates")
	io.WriteString(w, head)
	for range a.frames {
		http.NewResponseController(w).Flush()
		pause(r, a.every)
		fmt.Fprintf(w, a.frame, tick())
	}
	io.WriteString(w, "event: updates"+rest)
}

// pause waits for d or until the request is cancelled.
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
