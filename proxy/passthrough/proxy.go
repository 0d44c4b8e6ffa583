// Package passthrough leads requests straight to an agent, for what no dialect of ours carries: an
// agent's own routes, its documentation, its debug pages. The bridge mounts it below each agent's
// path, where no dialect answers. Nothing is translated, recorded or retried.
package passthrough

import (
	"context"
	"fmt"
	"io"
	"log"
	"mime"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"time"

	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/proxy/metrics"
	"github.com/apbridge/apbridge/proxy/trace"
)

// Refuse answers in the place of an agent that cannot, or must not. status is 502, 504,
// 413 or 403; message is for the caller and holds no address and no secret, err is for
// the log. An err that is a *mapping.Error is what the request is to be refused with instead.
type Refuse func(w http.ResponseWriter, r *http.Request, status int, message string, err error)

// Proxy is the way to one agent. Safe for concurrent use.
type Proxy struct {
	agent   string
	prefix  string // of our paths
	target  *url.URL
	headers map[string]config.Secret
	own     map[string]bool // their names, folded
	metrics *metrics.Metrics
	tracer  *trace.Tracer // may be nil
	refuse  Refuse
	open    func(context.Context) (done func(), err error) // counts a stream
	reverse *httputil.ReverseProxy
}

// Prefix returns the path below which an agent is found.
func Prefix(agent string) string { return "/agents/" + agent + "/upstream" }

// Owns reports whether a path is that of an agent's way, or below it, whether or not the
// way is open.
func Owns(path string) bool {
	rest, below := strings.CutPrefix(path, "/agents/")
	_, rest, named := strings.Cut(rest, "/")
	return below && named && (rest == "upstream" || strings.HasPrefix(rest, "upstream/"))
}

// New returns a Proxy of a configured agent, without a call. The agent sees the headers of its configuration
// in the place of every credential of the caller. ends are what its configured URL may end with and its root
// does not.
func New(agent string, c config.Agent, ends []string, m *metrics.Metrics, refuse Refuse) (*Proxy, error) {
	target, err := base(c.URL, ends)
	if err != nil {
		return nil, fmt.Errorf("agents.%s.url: %w", agent, err)
	}
	secure, err := c.TLS.Load()
	if err != nil {
		return nil, fmt.Errorf("agents.%s.tls: %w", agent, err)
	}
	p := &Proxy{agent: agent, prefix: Prefix(agent), target: target, headers: c.Headers, own: map[string]bool{}, metrics: m, refuse: refuse, open: uncounted}
	for name := range c.Headers {
		p.own[folded(name)] = true
	}
	p.reverse = &httputil.ReverseProxy{
		Rewrite:        p.rewrite,
		ModifyResponse: p.modify,
		ErrorHandler:   p.failed,
		FlushInterval:  -1, // streams must not wait for a full buffer
		Transport:      transport(c.StepTimeout, secure),
		ErrorLog:       log.New(io.Discard, "", 0), // it would quote what an agent sent
	}
	return p, nil
}

// Trace has spans made of the calls; nil: none. It must be called before the first request.
func (p *Proxy) Trace(t *trace.Tracer) { p.tracer = t }

// CountStreams has open asked before a stream begins: the error is for the caller, done is called at the
// stream's end. CountStreams must be called before the first request.
func (p *Proxy) CountStreams(open func(context.Context) (done func(), err error)) { p.open = open }

func uncounted(context.Context) (func(), error) { return func() {}, nil }

// ServeHTTP answers a request below Prefix. An answer that breaks off ends in
// http.ErrAbortHandler, so that the caller does not take it as whole.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Service-Worker") != "" { // Service Workers section 4.1: a script for all that is below a path
		p.refuse(w, r, http.StatusForbidden, "Service workers of an agent are not let through: they would answer in the bridge's place.", nil)
		return
	}
	// Else the server reads what is left of the body before the answer's first byte. An agent that
	// answers earlier would wait for the rest, and the transport, which reads the body too, takes
	// its closing for a failure and drops the agent's answer (net/http, Server and ReverseProxy).
	_ = http.NewResponseController(w).EnableFullDuplex() // HTTP/2 is so without a word
	begin := time.Now()
	ctx, end := p.tracer.UpstreamCall(r.Context(), p.agent, "passthrough", r.Method, p.target.String())
	call := &outcome{name: "broken", done: func() {}}
	defer func() {
		call.done()
		p.metrics.UpstreamCall(p.agent, "passthrough", call.name, time.Since(begin))
		end(call.status, call.name)
	}()
	r = r.WithContext(context.WithValue(ctx, outcomeKey{}, call))
	if strings.Contains(r.Header.Get("Accept"), eventStream) { // refused before the agent does anything
		if err := p.counted(r.Context()); err != nil {
			p.failed(w, r, err)
			return
		}
	}
	p.reverse.ServeHTTP(w, r)
}

// outcome is how one call went, as the metrics name it.
type outcome struct {
	name   string
	status int // 0: there was no answer
	stream bool
	done   func() // ends the counting of the stream
}

type outcomeKey struct{}

func note(ctx context.Context, name string) {
	if call, ok := ctx.Value(outcomeKey{}).(*outcome); ok {
		call.name = name
	}
}

func noteStatus(ctx context.Context, status int) {
	if call, ok := ctx.Value(outcomeKey{}).(*outcome); ok {
		call.status = status
	}
}

const eventStream = "text/event-stream"

// isStream reports whether an answer of this type comes as things happen: events, or a line of JSON for each.
func isStream(contentType string) bool {
	kind, _, _ := mime.ParseMediaType(contentType)
	switch kind {
	case eventStream, "application/x-ndjson", "application/ndjson", "application/jsonl", "application/json-seq":
		return true
	}
	return false
}

// counted counts the call as a stream, once.
func (p *Proxy) counted(ctx context.Context) error {
	call, ok := ctx.Value(outcomeKey{}).(*outcome)
	if !ok || call.stream {
		return nil
	}
	done, err := p.open(ctx)
	if err == nil {
		call.stream, call.done = true, done
	}
	return err
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
