package passthrough

import (
	"context"
	"net/http"
	"net/http/httptrace"
	"sync"
	"time"
)

// patience ends a call whose answer does not begin in time. The time counts from when the request was written: how long
// that takes is the caller's doing. A stream that has begun is bounded by the caller's patience alone.
type patience struct {
	most time.Duration
	call *call

	mu    sync.Mutex
	timer *time.Timer // nil: the request is not written
	begun bool        // the answer, or there will be none
}

// sending is a function that sends a request, as a transport.
type sending func(*http.Request) (*http.Response, error)

func (s sending) RoundTrip(r *http.Request) (*http.Response, error) { return s(r) }

// send leads a request to the agent and waits for the beginning of its answer. What comes in front of that (1xx) and
// after its body (trailers) goes no further: neither passes through modify.
func (p *Proxy) send(r *http.Request) (*http.Response, error) {
	wait := &patience{most: p.patience, call: callOf(r.Context())}
	defer wait.over()
	if trace := httptrace.ContextClientTrace(r.Context()); trace != nil {
		trace.Got1xxResponse = nil // of the reverse proxy, for this call alone; it would write the agent's headers
	}
	res, err := p.client.Pass(r.WithContext(httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{WroteRequest: wait.wrote})))
	if err != nil {
		return nil, err
	}
	untrailed := *res // the transport adds trailers to its own response when the body has ended
	untrailed.Trailer = nil
	untrailed.Header.Del("Trailer")
	return &untrailed, nil
}

// wrote begins the waiting, again where the request was written to another connection.
func (w *patience) wrote(httptrace.WroteRequestInfo) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.begun { // agents may answer before they have read the request
		return
	}
	if w.timer != nil {
		w.timer.Stop()
	}
	w.timer = time.AfterFunc(w.most, func() { w.call.end(context.DeadlineExceeded) })
}

func (w *patience) over() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.begun = true; w.timer != nil {
		w.timer.Stop()
	}
}
