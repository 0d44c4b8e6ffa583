// Package egress makes the HTTP clients with which the bridge calls others: agents, webhooks, the endpoint of
// embeddings. What differs between them, transport and headers, is their callers'. It never follows a redirect and
// keeps no cookie, so no configured header leaves for another host, and it writes no log, as a URL may hold a secret.
package egress

import (
	"net/http"

	"github.com/go-resty/resty/v2"
)

// New makes a client over a transport; agent is its User-Agent. Bodies of answers are left to the caller, who closes
// them. It does no I/O. The client is safe for concurrent use once it is set up.
func New(transport http.RoundTripper, agent string) *resty.Client {
	c := resty.NewWithClient(&http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	})
	return c.SetLogger(silent{}).SetDisableWarn(true).SetDoNotParseResponse(true).SetHeader("User-Agent", agent)
}

// silent keeps resty from writing to standard error.
type silent struct{}

func (silent) Errorf(string, ...any) {}
func (silent) Warnf(string, ...any)  {}
func (silent) Debugf(string, ...any) {}
