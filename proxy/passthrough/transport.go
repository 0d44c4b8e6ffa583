package passthrough

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/apbridge/apbridge/mapping"
)

const (
	dialTimeout = 10 * time.Second
	idleTimeout = 30 * time.Second
	maxIdle     = 16
	maxHeader   = 1 << 20 // bytes of an answer's header
)

// transport waits for the beginning of an answer as long as a step of the agent
// may take; a stream that has begun is bounded by the caller's patience alone.
// No proxy of the environment stands between the bridge and its agents.
func transport(patience time.Duration, secure *tls.Config) *http.Transport {
	return &http.Transport{
		DialContext:            (&net.Dialer{Timeout: dialTimeout}).DialContext,
		TLSClientConfig:        secure,
		TLSHandshakeTimeout:    dialTimeout,
		ResponseHeaderTimeout:  patience,
		IdleConnTimeout:        idleTimeout,
		MaxIdleConnsPerHost:    maxIdle,
		MaxResponseHeaderBytes: maxHeader,
		DisableCompression:     true, // bodies pass as they are
		ForceAttemptHTTP2:      true,
	}
}

// failed answers where the agent did not.
func (p *Proxy) failed(w http.ResponseWriter, r *http.Request, err error) {
	var tooLarge *http.MaxBytesError
	var slow net.Error
	var known *mapping.Error
	switch {
	case errors.As(err, &known):
		note(r.Context(), "refused")
		p.refuse(w, r, http.StatusBadGateway, known.Message, err)
	case errors.As(err, &tooLarge):
		note(r.Context(), "refused")
		p.refuse(w, r, http.StatusRequestEntityTooLarge, "The request's body is larger than limits.body of this bridge allows.", err)
	case errors.Is(err, context.Canceled):
		note(r.Context(), "left")
		p.refuse(w, r, http.StatusBadGateway, "The request was given up.", err)
	case errors.Is(err, os.ErrDeadlineExceeded) || errors.As(err, &slow) && slow.Timeout():
		note(r.Context(), "timeout")
		p.refuse(w, r, http.StatusGatewayTimeout, "Agent "+p.agent+" did not begin to answer in time (step_timeout).", err)
	default:
		note(r.Context(), "unreachable")
		p.refuse(w, r, http.StatusBadGateway, "Agent "+p.agent+" cannot be reached, or broke off before it answered.", err)
	}
}
