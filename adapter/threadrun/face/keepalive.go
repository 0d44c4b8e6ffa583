package face

import (
	"net/http"
	"sync"
	"time"

	"github.com/apbridge/apbridge/adapter/sse"
)

// keepAlive sends line breaks while a wait is silent, as LangGraph servers do, because clients and proxies close silent
// connections. After the first line break the status is 200, so later errors have to be in the body. Such a response is
// not compressed.
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

// stop ends the beats and reports whether the response has begun.
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
