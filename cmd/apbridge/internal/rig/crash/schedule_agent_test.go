package crash

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
)

// whim is the outcome of one POST to an agent.
type whim string

const (
	well     whim = "well"
	unheard  whim = "unheard"  // the connection closes before anything is done
	unsaid   whim = "unsaid"   // it is done, and the connection closes
	garbage  whim = "garbage"  // it is done, and half an answer comes
	broken   whim = "broken"   // an error page, and nothing is done
	silent   whim = "silent"   // nothing is done, and nothing comes
	thinking whim = "thinking" // it is done when the schedule allows it
)

// whimsical is an agent that applies its whims to successive POSTs for work, and works normally when none are left.
type whimsical struct {
	agent http.Handler
	work  func(path string) bool
	mu    sync.Mutex
	plan  []whim
	think chan struct{} // closed: no step thinks any longer
}

func newWhimsical(agent http.Handler) *whimsical {
	work := func(path string) bool { return !strings.HasSuffix(path, "/artifacts") }
	if _, ok := agent.(*rig.MemoryGraph); ok {
		work = func(path string) bool { return strings.HasSuffix(path, "/runs/stream") }
	}
	return &whimsical{agent: agent, work: work, think: make(chan struct{})}
}

// expect adds whims.
func (w *whimsical) expect(plan ...whim) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.plan = append(w.plan, plan...)
}

// recover ends all whims, including active ones.
func (w *whimsical) recover() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.plan = nil
	close(w.think)
	w.think = make(chan struct{})
}

func (w *whimsical) next(r *http.Request) (whim, chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if r.Method != http.MethodPost || len(w.plan) == 0 || !w.work(r.URL.Path) {
		return well, w.think
	}
	is := w.plan[0]
	w.plan = w.plan[1:]
	return is, w.think
}

func (w *whimsical) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	is, think := w.next(r)
	body, _ := io.ReadAll(r.Body) // a server only notices a disconnect after it has read the body
	r.Body = io.NopCloser(bytes.NewReader(body))
	switch is {
	case unheard:
		panic(http.ErrAbortHandler)
	case broken:
		http.Error(rw, "<h1>Internal Server Error</h1>", http.StatusInternalServerError)
		return
	case silent:
		<-r.Context().Done()
		return
	case thinking:
		select {
		case <-think:
		case <-r.Context().Done():
			return // it never came to it
		}
	}
	if is != unsaid && is != garbage {
		w.agent.ServeHTTP(rw, r)
		return
	}
	w.agent.ServeHTTP(httptest.NewRecorder(), r)
	if is == unsaid {
		panic(http.ErrAbortHandler)
	}
	rw.Header().Set("Content-Type", "application/json")
	_, _ = rw.Write([]byte(`{"step_id":`))
}
