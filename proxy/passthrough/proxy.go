// Package passthrough forwards requests unchanged to an agent, for its own routes, its documentation and its debug
// pages, which no dialect covers. The bridge mounts it below each agent's path, outside of the dialects' routes.
// Nothing is translated, recorded or retried. Start reading at Proxy.
package passthrough

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/upstream"
	"github.com/apbridge/apbridge/mapping"
)

// Refuse writes an error instead of the agent's response. The message is for the caller and contains no address and no
// secret; the cause is for the log.
type Refuse func(w http.ResponseWriter, r *http.Request, e *mapping.Error)

// Proxy forwards requests to one agent. Safe for concurrent use.
type Proxy struct {
	agent    string
	prefix   string // of our paths
	target   *url.URL
	own      map[string]bool // folded names of the configured headers
	client   *upstream.Client
	patience time.Duration // for the beginning of an answer
	refuse   Refuse
	reverse  *httputil.ReverseProxy
	retired  atomic.Bool
}

// Prefix returns the path of an agent's proxy.
func Prefix(agent string) string { return "/agents/" + agent + "/upstream" }

// Owns reports whether a path is that of an agent's proxy, or below it, even if it is disabled.
func Owns(path string) bool {
	rest, below := strings.CutPrefix(path, "/agents/")
	_, rest, named := strings.Cut(rest, "/")
	return below && named && (rest == "upstream" || strings.HasPrefix(rest, "upstream/"))
}

// New returns a Proxy for a configured agent without calling it. The agent receives the headers of its configuration
// instead of the caller's credentials. ends are the possible ends of its configured URL that do not belong to its root.
func New(up adapter.Upstream, ends []string, refuse Refuse) (*Proxy, error) {
	target, err := base(up.Config.URL, ends)
	if err != nil {
		return nil, fmt.Errorf("agents.%s.url: %w", up.Name, err)
	}
	p := &Proxy{
		agent: up.Name, prefix: Prefix(up.Name), target: target, own: map[string]bool{}, patience: up.Config.StepTimeout,
		client: upstream.New(up, upstream.Options{Root: target.String()}), refuse: refuse,
	}
	for name := range up.Config.Headers {
		p.own[folded(name)] = true
	}
	p.reverse = &httputil.ReverseProxy{
		Rewrite:        p.rewrite,
		ModifyResponse: p.modify,
		ErrorHandler:   p.failed,
		FlushInterval:  -1, // streams must not wait until a buffer is full
		Transport:      sending(p.send),
		ErrorLog:       log.New(io.Discard, "", 0), // it would quote the agent's data
	}
	return p, nil
}

// Retire closes unused connections to the agent, now and after each request. It is for a Proxy that was replaced; its
// requests in progress continue.
func (p *Proxy) Retire() {
	p.retired.Store(true)
	p.client.CloseIdle()
}

// settled is the time after a request at which its connection is certainly idle. An HTTP/2 connection is idle shortly
// after the answer was read.
const settled = time.Second

// tidy is called at the end of a request. An HTTP/2 connection with a request is not idle when Retire is called, and a
// request at that moment makes the transport keep its connection.
func (p *Proxy) tidy() {
	if p.retired.Load() {
		time.AfterFunc(settled, p.client.CloseIdle)
	}
}

// ServeHTTP handles a request below Prefix. If the response breaks off, it panics with http.ErrAbortHandler, so that
// the caller notices.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Service-Worker") != "" { // Service Workers section 4.1: a script for everything below a path
		p.refuse(w, r, mapping.Errorf(mapping.Forbidden, mapping.CodeNotSupported,
			"Service workers of an agent are not forwarded, since they would respond in the bridge's place."))
		return
	}
	// Without full duplex, the server reads the rest of the body before the response's first byte. An agent that
	// responds early would wait for the rest. The transport, which also reads the body, would mistake its end for a
	// failure and drop the agent's response (net/http, Server and ReverseProxy).
	_ = http.NewResponseController(w).EnableFullDuplex() // HTTP/2 always is
	defer p.tidy()
	r, c := begin(r)
	defer c.over()
	if strings.Contains(r.Header.Get("Accept"), eventStream) { // refused before the agent does anything
		if err := c.count(); err != nil {
			p.failed(w, r, err)
			return
		}
	}
	p.reverse.ServeHTTP(w, r)
}

// base returns the agent's root.
func base(raw string, ends []string) (*url.URL, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return nil, err
	}
	u.RawQuery, u.Fragment, u.RawFragment, u.RawPath = "", "", "", ""
	u.Path = strings.TrimRight(u.Path, "/")
	for _, end := range ends {
		if root, ok := strings.CutSuffix(u.Path, end); ok {
			u.Path = strings.TrimRight(root, "/")
			break
		}
	}
	return u, nil
}
