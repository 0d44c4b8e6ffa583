package face

import (
	"net/http"
	"sync"
	"time"

	"github.com/apbridge/apbridge/adapter/sse"
)

// keepAlive sends a line break now and then while a wait is silent, as LangGraph servers do: clients and proxies cut
// silent connections. The status is 200 from the first one on, so later errors must stand in the body. An answer that
// has begun so is not compressed.
type keepAlive struct {
	w       http.ResponseWriter
	mu      sync.Mutex
	timer   *time.Timer
	every   time.Duration
	began   bool
	stopped bool
}

func (k *keepAlive) start(every time.Duration) {
	k.every = every
	k.mu.Lock()
	defer k.mu.Unlock()
	k.timer = time.AfterFunc(every, k.beat)
}

func (k *keepAlive) beat() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.stopped {
		return
	}
	if !k.began {
		k.began = true
		k.w.Header().Set("Content-Type", "application/json")
		sse.SetUnbuffered(k.w.Header())
		k.w.WriteHeader(http.StatusOK)
	}
	_, _ = k.w.Write([]byte("\n"))
	_ = http.NewResponseController(k.w).Flush()
	k.timer.Reset(k.every)
}

// stop ends the beats; began reports whether the answer has begun.
func (k *keepAlive) stop() (began bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.stopped = true
	if k.timer != nil {
		k.timer.Stop()
	}
	return k.began
}

func (k *keepAlive) finish(body []byte) { _, _ = k.w.Write(body) }
