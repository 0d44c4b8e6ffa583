package sse

import (
	"net/http"
	"sync"
	"time"
)

// KeepAlive sends line breaks while a request waits for its JSON, because clients and proxies close silent connections.
// White space before a JSON value is legal. After the first line break the status is 200, so later errors have to be in
// the body. Such a response is not compressed. Set W and Type before Start. Safe for concurrent use.
type KeepAlive struct {
	W    http.ResponseWriter
	Type string // content type

	mu      sync.Mutex
	timer   *time.Timer
	every   time.Duration
	began   bool
	stopped bool
}

// Start sends a line break after each interval until Stop.
func (k *KeepAlive) Start(every time.Duration) {
	k.every = every
	k.mu.Lock()
	defer k.mu.Unlock()
	k.timer = time.AfterFunc(every, k.beat)
}

func (k *KeepAlive) beat() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.stopped {
		return
	}
	if !k.began {
		k.began = true
		k.W.Header().Set("Content-Type", k.Type)
		SetUnbuffered(k.W.Header())
		k.W.WriteHeader(http.StatusOK)
	}
	_, _ = k.W.Write([]byte("\n")) // the request's context ends if the client has left
	_ = http.NewResponseController(k.W).Flush()
	k.timer.Reset(k.every)
}

// Stop ends the line breaks and reports whether the response has begun.
func (k *KeepAlive) Stop() (began bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.stopped = true
	if k.timer != nil {
		k.timer.Stop()
	}
	return k.began
}
