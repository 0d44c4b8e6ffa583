package crash

import (
	"net/http"
	"time"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
)

// paced returns the agent with steps that take the scene's time, or with runs that take it after the first frame. It
// uses a time instead of a signal, because nothing observable happens at its end. The time is longer than a result
// waits to be written together with others.
func (s scene) paced(agent http.Handler) http.Handler {
	if s.pace == 0 {
		return agent
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case rig.StepPosts(r):
			<-time.After(s.pace)
		case rig.RunPosts(r):
			w = &slowWriter{ResponseWriter: w, pace: s.pace}
		}
		agent.ServeHTTP(w, r)
	})
}

// slowWriter waits after the first frame of a stream, which is the second flush. The first flush sends the headers.
type slowWriter struct {
	http.ResponseWriter
	pace    time.Duration
	flushed int
}

func (w *slowWriter) Flush() {
	_ = http.NewResponseController(w.ResponseWriter).Flush()
	if w.flushed++; w.flushed == 2 {
		<-time.After(w.pace)
	}
}
