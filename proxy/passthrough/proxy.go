// Package passthrough leads requests straight to an agent, for what no dialect of ours carries: an agent's own routes,
// its documentation, its debug pages. The bridge mounts it below each agent's path, where no dialect answers. Nothing
// is translated, recorded or retried.
package passthrough

import (
	"context"
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

// Refuse answers in the place of an agent that cannot, or must not. The message is for the caller and holds no address
// and no secret, the cause is for the log.
type Refuse func(w http.ResponseWriter, r *http.Request, e *mapping.Error)

// Proxy is the way to one agent. Safe for concurrent use.
type Proxy struct {
	agent    string
	prefix   string // of our paths
	target   *url.URL
	own      map[string]bool // names of the configured headers, folded
	client   *upstream.Client
	patience time.Duration // for the beginning of an answer
	refuse   Refuse
	open     func(context.Context) (done func(), err error) // counts a stream
	reverse  *httputil.ReverseProxy
	retired  atomic.Bool
}

// Prefix returns the path below which an agent is found.
func Prefix(agent string) string { return "/agents/" + agent + "/upstream" }

// Owns reports whether a path is that of an agent's way, or below it, whether or not the way is open.
func Owns(path string) bool {
	rest, below := strings.CutPrefix(path, "/agents/")
	_, rest, named := strings.Cut(rest, "/")
	return below && named && (rest == "upstream" || strings.HasPrefix(rest, "upstream/"))
}

// New returns a Proxy of a configured agent, without a call. The agent sees the headers of its configuration in the
// place of every credential of the caller. ends are what its configured URL may end with and its root does not.
func New(up adapter.Upstream, ends []string, refuse Refuse) (*Proxy, error) {
	target, err := base(up.Config.URL, ends)
	if err != nil {
		return nil, fmt.Errorf("agents.%s.url: %w", up.Name, err)
	}
	p := &Proxy{
		agent: up.Name, prefix: Prefix(up.Name), target: target, own: map[string]bool{}, patience: up.Config.StepTimeout,
		client: upstream.New(up, upstream.Options{Root: target.String()}), refuse: refuse, open: uncounted,
	}
	for name := range up.Config.Headers {
		p.own[folded(name)] = true
	}
	p.reverse = &httputil.ReverseProxy{
		Rewrite:        p.rewrite,
		ModifyResponse: p.modify,
		ErrorHandler:   p.failed,
		FlushInterval:  -1, // streams must not wait for a full buffer
		Transport:      sending(p.send),
		ErrorLog:       log.New(io.Discard, "", 0), // it would quote what an agent sent
	}
	return p, nil
}

// CountStreams has open asked before a stream begins: the error is for the caller, done is called at the stream's end.
// CountStreams must be called before the first request.
func (p *Proxy) CountStreams(open func(context.Context) (done func(), err error)) { p.open = open }

// Retire closes the connections to the agent that no request uses, now and whenever a request ends. It is for a Proxy
// in whose place there is another: what is under way goes on.
func (p *Proxy) Retire() {
	p.retired.Store(true)
	p.client.CloseIdle()
}

// settled is how long after a request its connection surely counts as idle: one of HTTP/2 does so a moment after the
// answer was read.
const settled = time.Second

// tidy is called when a request is over. A connection of HTTP/2 was not idle when Retire was called, and a request that
// came at that moment has the transport keep its connection.
func (p *Proxy) tidy() {
	if p.retired.Load() {
		time.AfterFunc(settled, p.client.CloseIdle)
	}
}

// ServeHTTP answers a request below Prefix. An answer that breaks off ends in http.ErrAbortHandler, so that the caller
// does not take it as whole.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Service-Worker") != "" { // Service Workers section 4.1: a script for all that is below a path
		p.refuse(w, r, mapping.Errorf(mapping.Forbidden, mapping.CodeNotSupported,
			"Service workers of an agent are not let through: they would answer in the bridge's place."))
		return
	}
	// Else the server reads what is left of the body before the answer's first byte. An agent that answers earlier
	// would wait for the rest, and the transport, which reads the body too, takes its closing for a failure and drops
	// the agent's answer (net/http, Server and ReverseProxy).
	_ = http.NewResponseController(w).EnableFullDuplex() // HTTP/2 is so without a word
	defer p.tidy()
	r, c := begin(r)
	defer c.over()
	if strings.Contains(r.Header.Get("Accept"), eventStream) { // refused before the agent does anything
		if err := p.counted(c); err != nil {
			p.failed(w, r, err)
			return
		}
	}
	p.reverse.ServeHTTP(w, r)
}

// base is the agent's root.
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
