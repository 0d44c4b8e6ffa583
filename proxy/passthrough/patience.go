package passthrough

import (
	"context"
	"net/http"
	"net/http/httptrace"
	"sync"
	"time"
)

// patience ends a call whose response does not begin in time. The time starts when the request has been written,
// because the caller determines how long that takes. After a response has begun, only the caller limits its duration.
type patience struct {
	most time.Duration
	call *call

	mu    sync.Mutex
	timer *time.Timer // nil until the request is written
	begun bool        // the response has begun, or there will be none
}

// sending is a function that sends a request, as a transport.
type sending func(*http.Request) (*http.Response, error)

func (s sending) RoundTrip(r *http.Request) (*http.Response, error) { return s(r) }

// send forwards a request to the agent and waits for the beginning of its response. Informational responses (1xx) and
// trailers are dropped, because neither passes through modify.
func (p *Proxy) send(r *http.Request) (*http.Response, error) {
	wait := &patience{most: p.patience, call: callOf(r.Context())}
	defer wait.over()
	if trace := httptrace.ContextClientTrace(r.Context()); trace != nil {
		trace.Got1xxResponse = nil // a copy for this call; the reverse proxy's would write the agent's headers
	}
	res, err := p.client.Pass(r.WithContext(httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{WroteRequest: wait.wrote})))
	if err != nil {
		return nil, err
	}
	untrailed := *res // the transport adds trailers to its own response at the end of the body
	untrailed.Trailer = nil
	untrailed.Header.Del("Trailer")
	return &untrailed, nil
}

// wrote starts the timer, again if the request was written to another connection.
func (w *patience) wrote(httptrace.WroteRequestInfo) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.begun { // an agent may respond before it has read the request
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
