package upstream

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/egress"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping/credential"
	"github.com/apbridge/apbridge/mapping/failpoint"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/go-resty/resty/v2"
)

const (
	readIdle = 30 * time.Second
	// writeIdle is the maximum idle time of a connection for calls that change something. It is short because if the
	// agent closes the connection at the moment of a call, it is unknown whether it received the call. All known
	// servers keep an idle connection for at least two seconds.
	writeIdle = time.Second
	jsonType  = "application/json"
)

// Options holds the settings that differ between the dialects of agents.
type Options struct {
	// Root is the URL to which the paths of calls are appended.
	Root string
	// Limit is the maximum length of a response in bytes.
	Limit int64
	// Later means that an agent has done nothing if it responds to a changing call with 429, or with 503 and
	// Retry-After. Such a call is retried.
	Later bool
}

// Client calls one agent. All its errors are of type *Failure. It follows no redirects and keeps no cookies, so that
// the configured headers are never sent to another host. Safe for concurrent use.
type Client struct {
	opt     Options
	agent   string
	hop     string
	headers map[string]config.Secret
	tracer  adapter.Tracer // may be nil
	secrets credential.Set
	reads   *resty.Client
	writes  *resty.Client
}

// New returns a client of the agent. It does no I/O.
func New(up adapter.Upstream, opt Options) *Client {
	opt.Root = strings.TrimRight(opt.Root, "/")
	secrets := up.Config.Credentials()
	return &Client{
		opt: opt, agent: up.Name, hop: up.Hop, headers: up.Config.Headers, tracer: up.Tracer, secrets: secrets,
		reads: newResty(up, secrets, readIdle), writes: newResty(up, secrets, writeIdle),
	}
}

func newResty(up adapter.Upstream, secrets credential.Set, idle time.Duration) *resty.Client {
	c := egress.New(newTransport(up, secrets, idle), cmp.Or(up.UserAgent, "apbridge"))
	personal := map[string]config.Secret{}
	for name, secret := range up.Config.Headers {
		if secret.IsOfPrincipal() {
			personal[name] = secret
		} else {
			c.SetHeader(name, secret.Reveal())
		}
	}
	c.SetPreRequestHook(func(_ *resty.Client, r *http.Request) error {
		adapter.AddHop(r, up.Hop)
		setHeaders(r, personal)
		adapter.AddOrigin(r)
		setBody(r)
		return nil
	})
	return c
}

// CloseIdle closes unused connections.
func (c *Client) CloseIdle() {
	c.reads.GetClient().CloseIdleConnections()
	c.writes.GetClient().CloseIdleConnections()
}

// Stream is a request body of known size that can be read only once.
type Stream struct {
	io.Reader
	Size int64
}

type streamKey struct{}

// setBody sets the streamed body of a request, or no body. resty itself would read a streamed body into memory, and
// would send an empty one with unknown length.
func setBody(r *http.Request) {
	if s, ok := r.Context().Value(streamKey{}).(*Stream); ok {
		r.Body, r.ContentLength, r.GetBody = io.NopCloser(s.Reader), s.Size, nil
	} else if r.ContentLength == 0 {
		r.Body, r.GetBody = http.NoBody, nil
	}
}

// Call is a request to an agent.
type Call struct {
	Method    string
	Path      string // relative to Options.Root, with its query
	Operation string // for the metrics; default: OpRead or OpWrite
	ReadOnly  bool   // changes nothing although the method is not GET
	Accept    string // default: JSON
	Header    map[string]string
	Type      string          // of the body; "" for no Content-Type
	Body      *rawjson.Pieces // may be nil
	Stream    *Stream         // instead of Body; never sent twice
	// Time limits one attempt up to the end of the response. If it is 0, only the context limits it. It does not apply
	// to opened responses.
	Time time.Duration
}

// asks reports whether a call changes nothing.
func (c *Call) asks() bool {
	return c.ReadOnly || c.Method == http.MethodGet || c.Method == http.MethodHead
}

func (c *Call) operation() string {
	switch {
	case c.Operation != "":
		return c.Operation
	case c.asks():
		return OpRead
	}
	return OpWrite
}

// pool returns the client whose connections a call uses.
func (c *Client) pool(call *Call) *resty.Client {
	if call.asks() {
		return c.reads
	}
	return c.writes
}

// send makes one exchange. The response may have any status.
func (c *Client) send(ctx context.Context, call *Call) (*http.Response, error) {
	ctx = context.WithValue(ctx, operationKey{}, call.operation())
	req := c.pool(call).R().SetHeader("Accept", cmp.Or(call.Accept, jsonType)).SetHeaders(call.Header)
	if call.Type != "" {
		req.SetHeader("Content-Type", call.Type)
	}
	switch {
	case call.Stream != nil:
		ctx = context.WithValue(ctx, streamKey{}, call.Stream)
	case call.Body != nil:
		ctx = context.WithValue(ctx, streamKey{}, &Stream{Reader: call.Body.Reader(), Size: call.Body.Len()})
	}
	ctx = c.traced(ctx, call)
	hit(call, failpoint.AgentAsked)
	res, err := req.SetContext(ctx).Execute(call.Method, c.opt.Root+call.Path)
	if err != nil {
		endSpan(ctx, 0, outcomeUnsent) // unless an exchange has ended it
		if res != nil && res.RawResponse != nil {
			_ = res.RawResponse.Body.Close()
		}
		return nil, err
	}
	return res.RawResponse, nil
}

// hit triggers a fail point for calls that may change something.
func hit(call *Call, at failpoint.Point) {
	if call.Method != http.MethodGet {
		failpoint.Hit(at)
	}
}

// Redact removes credentials from the agent's text before it is put into a message or a log (credential.Set.Hide).
func (c *Client) Redact(text string) string { return c.secrets.Hide(text) }

// Excerpt returns the beginning of the agent's text without credentials, for a message or a log
// (credential.Set.Excerpt).
func (c *Client) Excerpt(text string, most int) string { return c.secrets.Excerpt(text, most) }
