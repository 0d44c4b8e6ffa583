// Package egress makes the HTTP clients for the bridge's outgoing calls to agents, webhooks and the embeddings
// endpoint. Callers provide the transport and headers. The clients follow no redirects and keep no cookies, so that
// configured headers are never sent to another host. They write no log, because a URL may contain a secret.
package egress

import (
	"net/http"

	"github.com/go-resty/resty/v2"
)

// New returns a client that uses transport and sends agent as its User-Agent. Callers read and close response bodies.
// New does no I/O. The client is safe for concurrent use once it is configured.
func New(transport http.RoundTripper, agent string) *resty.Client {
	c := resty.NewWithClient(&http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	})
	return c.SetLogger(silent{}).SetDisableWarn(true).SetDoNotParseResponse(true).SetHeader("User-Agent", agent)
}

// silent prevents resty from writing to standard error.
type silent struct{}

func (silent) Errorf(string, ...any) {}
func (silent) Warnf(string, ...any)  {}
func (silent) Debugf(string, ...any) {}
