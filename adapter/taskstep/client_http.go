package taskstep

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"time"
	"unicode/utf8"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/transport"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/failpoint"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/go-resty/resty/v2"
)

const (
	dialTimeout = 10 * time.Second
	readTimeout = 30 * time.Second // of a GET, which no agent has to think about
	// stepIdle is how long a connection for POSTs is kept: a server that
	// closes it at the same moment would leave us not knowing whether the
	// POST arrived.
	stepIdle     = time.Second
	readIdle     = 30 * time.Second
	defaultEvent = 16 << 20
	idleFloor    = 16
	connBuffer   = 2 << 10 // of a connection; there may be thousands, and what is larger goes past it
	jsonType     = "application/json"
)

// pauses are the waits before a call is tried again, where that is safe.
var pauses = []time.Duration{50 * time.Millisecond, 150 * time.Millisecond}

// response is a whole answer of the agent.
type response struct {
	status int
	header http.Header
	body   []byte
}

// brokenError is a call that was sent and whose answer never came whole: the
// agent may or may not have done what it was asked for.
type brokenError struct{ err error }

func (e *brokenError) Error() string { return "connection broke: " + e.err.Error() }
func (e *brokenError) Unwrap() error { return e.err }

var errTooLarge = errors.New("the answer is over the limit")

func newTransport(up adapter.Upstream, idle time.Duration) http.RoundTripper {
	return adapter.Permitted(transport.NewDirect(&http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: dialTimeout}).DialContext,
		TLSHandshakeTimeout: dialTimeout,
		MaxIdleConnsPerHost: max(up.Config.Concurrency, idleFloor),
		IdleConnTimeout:     idle,
		DisableCompression:  true,
		ReadBufferSize:      connBuffer,
		WriteBufferSize:     connBuffer,
	}))
}

func newClient(up adapter.Upstream, by http.RoundTripper) *resty.Client {
	c := resty.NewWithClient(&http.Client{
		Transport:     by,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	})
	c.SetLogger(silent{}).SetDoNotParseResponse(true).SetPreRequestHook(func(c *resty.Client, r *http.Request) error {
		adapter.AddHop(r, up.Hop)
		return setBody(c, r)
	})
	c.SetHeader("User-Agent", cmp.Or(up.Agent, "apbridge"))
	for name, secret := range up.Config.Headers {
		c.SetHeader(name, secret.Reveal())
	}
	return c
}

// silent keeps resty from writing to standard error, and secrets with it.
type silent struct{}

func (silent) Errorf(string, ...any) {}
func (silent) Warnf(string, ...any)  {}
func (silent) Debugf(string, ...any) {}

// uploadBody is a request body that is streamed.
type uploadBody struct {
	io.Reader
	size int64
}

type uploadKey struct{}

// setBody gives the request its streamed body, or none. resty would read a
// streamed body into memory, and turn an empty one into one of unknown length.
func setBody(_ *resty.Client, r *http.Request) error {
	if up, ok := r.Context().Value(uploadKey{}).(*uploadBody); ok {
		r.Body, r.ContentLength, r.GetBody = io.NopCloser(up.Reader), up.size, nil
	} else if r.ContentLength == 0 {
		r.Body, r.GetBody = http.NoBody, nil
	}
	return nil
}

// get asks, and asks again when nobody answered or a gateway answered for the
// agent.
func (b *backend) get(ctx context.Context, path, query string) (*response, error) {
	for try := 0; ; try++ {
		ans, err := b.getOnce(ctx, path, query)
		if try == len(pauses) || !worthAgain(ans, err) {
			return ans, b.unreachable(ctx, err)
		}
		if err := pause(ctx, adapter.Spread(pauses[try])); err != nil {
			return nil, err
		}
	}
}

// worthAgain: a fast failure may pass; one that took its whole time, or is
// about the answer itself, will not.
func worthAgain(ans *response, err error) bool {
	if err != nil {
		return !errors.Is(err, errTooLarge) && !errors.Is(err, context.DeadlineExceeded)
	}
	return ans.status >= 502 && ans.status <= 504
}

func (b *backend) getOnce(ctx context.Context, path, query string) (*response, error) {
	ctx, cancel := context.WithTimeout(ctx, b.readTimeout())
	defer cancel()
	req := b.reads.R().SetContext(ctx).SetHeader("Accept", jsonType)
	if query != "" {
		path += "?" + query
	}
	res, err := req.Get(b.base.root + path)
	return b.read(res, err)
}

func (b *backend) readTimeout() time.Duration { return min(readTimeout, b.stepTimeout()) }

// open starts a download, as get does; the caller closes the body.
func (b *backend) open(ctx context.Context, path string) (*response, io.ReadCloser, error) {
	for try := 0; ; try++ {
		ans, body, err := b.openOnce(ctx, path)
		if body != nil || try == len(pauses) || !worthAgain(ans, err) {
			return ans, body, b.unreachable(ctx, err)
		}
		if err := pause(ctx, pauses[try]); err != nil {
			return nil, nil, err
		}
	}
}

func (b *backend) openOnce(ctx context.Context, path string) (*response, io.ReadCloser, error) {
	req := b.reads.R().SetContext(ctx).SetHeader("Accept", "application/octet-stream, */*")
	res, err := req.Get(b.base.root + path)
	if err == nil && res.StatusCode()/100 == 2 {
		return nil, res.RawBody(), nil
	}
	ans, err := b.read(res, err)
	return ans, nil, err
}

// post sends a JSON body, or none, exactly once: it is sent again only when
// the connection was never made. What was sent and came to no answer is a
// brokenError.
func (b *backend) post(ctx context.Context, path string, body *rawjson.Pieces) (*response, error) {
	for try := 0; ; try++ {
		sent := ctx
		if body != nil {
			sent = context.WithValue(ctx, uploadKey{}, &uploadBody{body.Reader(), body.Len()})
		}
		ans, err := b.postOnce(sent, b.steps.R(), path)
		if !isDial(err) || try == len(pauses) {
			return ans, err
		}
		if err := pause(ctx, adapter.Spread(pauses[try])); err != nil {
			return nil, err
		}
	}
}

func (b *backend) postOnce(ctx context.Context, req *resty.Request, path string) (*response, error) {
	limited, cancel := context.WithTimeout(ctx, b.stepTimeout())
	defer cancel()
	failpoint.Hit(failpoint.AgentAsked)
	res, err := req.SetContext(limited).Post(b.base.root + path)
	ans, err := b.read(res, err)
	failpoint.Hit(failpoint.AgentAnswered)
	switch {
	case err == nil || errors.Is(err, errTooLarge):
		return ans, err
	case ctx.Err() != nil:
		return nil, ended(ctx)
	case limited.Err() != nil:
		return nil, b.slow()
	case isDial(err):
		b.forget()
		return nil, b.away(err)
	}
	return nil, &brokenError{bare(err)}
}

// read takes the whole body, up to limits.event. After a 5xx the connection
// is not used again: some servers drop it without a word.
func (b *backend) read(res *resty.Response, err error) (*response, error) {
	if err != nil {
		return nil, err
	}
	body := res.RawBody()
	defer body.Close()
	limit := int64(b.up.Limits.Event)
	if limit <= 0 {
		limit = defaultEvent
	}
	ok := res.StatusCode()/100 == 2
	if !ok {
		limit = min(limit, errorBody)
	}
	raw, err := readAll(body, limit, res.RawResponse.ContentLength)
	if errors.Is(err, errTooLarge) && !ok {
		err = nil
	}
	if res.StatusCode() >= 500 {
		b.freshConnection()
	}
	return &response{status: res.StatusCode(), header: res.Header(), body: clean(raw)}, err
}

// clean makes text of a body that some servers do not send as clean UTF-8.
func clean(raw []byte) []byte {
	raw = bytes.TrimPrefix(raw, []byte("\xEF\xBB\xBF"))
	if utf8.Valid(raw) {
		return raw
	}
	return bytes.ToValidUTF8(raw, []byte("\uFFFD"))
}

func (b *backend) freshConnection() {
	b.steps.GetClient().CloseIdleConnections()
	b.reads.GetClient().CloseIdleConnections()
}

func readAll(r io.Reader, limit, expect int64) ([]byte, error) {
	if expect > 0 && expect <= limit {
		buf := make([]byte, expect)
		n, err := io.ReadFull(r, buf)
		return buf[:n], err
	}
	var buf bytes.Buffer
	n, err := buf.ReadFrom(io.LimitReader(r, limit+1))
	if err == nil && n > limit {
		buf.Truncate(int(limit))
		err = errTooLarge
	}
	return buf.Bytes(), err
}

// isDial tells that no connection was made, so that nothing was sent.
func isDial(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// pause waits, or returns why the context ended.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ended(ctx)
	}
}

// ended is why the context ended, as an error that may leave the backend.
func ended(ctx context.Context) error {
	cause := context.Cause(ctx)
	var e *mapping.Error
	switch {
	case errors.As(cause, &e):
		return e
	case errors.Is(cause, context.DeadlineExceeded):
		return &mapping.Error{Class: mapping.Timeout, Code: mapping.CodeRunTimeout, Message: "The run took longer than it may.", Err: cause}
	}
	return &mapping.Error{Class: mapping.Unavailable, Code: codeStopped, Message: "The run was stopped.", Err: cause}
}
