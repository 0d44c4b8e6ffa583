package threadrun

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/transport"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/failpoint"
	"github.com/go-resty/resty/v2"
)

const (
	dialTimeout  = 5 * time.Second
	callTimeout  = 30 * time.Second // of a call that is answered at once
	retryTries   = 3
	retryMaxWait = 5 * time.Second // longest Retry-After that is honoured, before it is spread
	maxAnswer    = 64 << 20        // of one JSON answer: a whole state
	connBuffer   = 2 << 10         // of a connection; there may be thousands, and what is larger goes past it
)

// client is the HTTP side of the backend. Reads may be asked again, so they
// keep connections; a POST that changes something must not meet a connection
// the server is about to close, so its idle connections are dropped sooner
// than any known server drops them. No redirect is followed, no cookie kept:
// the configured headers never leave for another host.
type client struct {
	agent   string // config name, for messages
	host    string // of the URL, for messages
	secrets []string
	reads   *resty.Client
	writes  *resty.Client
}

func newClient(up adapter.Upstream) (*client, error) {
	u, err := url.Parse(up.Config.URL)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return nil, mapping.Errorf(mapping.Invalid, mapping.CodeInvalid,
			"The URL of agent %q is not an http or https URL with a host.", up.Name)
	}
	c := &client{agent: up.Name, host: u.Host, secrets: secretsOf(up, u)}
	c.reads = newResty(up, 30*time.Second)
	c.writes = newResty(up, 2*time.Second)
	return c, nil
}

func newResty(up adapter.Upstream, idle time.Duration) *resty.Client {
	conns := max(up.Config.Concurrency, 16)
	dialer := &net.Dialer{Timeout: dialTimeout, KeepAlive: 15 * time.Second}
	hc := &http.Client{
		Transport: adapter.Permitted(transport.NewDirect(&http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			DialContext:         dialer.DialContext,
			TLSHandshakeTimeout: 10 * time.Second,
			MaxIdleConns:        conns,
			MaxIdleConnsPerHost: conns,
			IdleConnTimeout:     idle,
			DisableCompression:  true,
			ReadBufferSize:      connBuffer,
			WriteBufferSize:     connBuffer,
			ForceAttemptHTTP2:   true,
		})),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	rc := resty.NewWithClient(hc).SetBaseURL(up.Config.URL).SetRetryCount(0).
		SetDisableWarn(true).SetLogger(quiet{}).SetHeader("Accept", "application/json")
	if up.Agent != "" {
		rc.SetHeader("User-Agent", up.Agent)
	}
	rc.SetPreRequestHook(func(_ *resty.Client, r *http.Request) error {
		adapter.AddHop(r, up.Hop)
		setBody(r)
		return nil
	})
	for name, value := range up.Config.Headers {
		rc.SetHeader(name, value.Reveal())
	}
	return rc
}

// quiet keeps resty from writing to the standard logger: what matters is in
// the errors it returns.
type quiet struct{}

func (quiet) Errorf(string, ...any) {}
func (quiet) Warnf(string, ...any)  {}
func (quiet) Debugf(string, ...any) {}

func (c *client) close() {
	c.reads.GetClient().CloseIdleConnections()
	c.writes.GetClient().CloseIdleConnections()
}

// getJSON reads path into v. It is tried again while nobody answers or the
// server says it is overloaded.
func (c *client) getJSON(ctx context.Context, path string, v any) error {
	return c.readJSON(ctx, http.MethodGet, path, nil, v)
}

// askJSON is getJSON for questions that the API puts in a POST.
func (c *client) askJSON(ctx context.Context, path string, body, v any) error {
	return c.readJSON(ctx, http.MethodPost, path, body, v)
}

func (c *client) readJSON(ctx context.Context, method, path string, body, v any) error {
	for try := 1; ; try++ {
		err := c.roundTrip(ctx, c.reads, method, path, body, v)
		if err == nil || try == retryTries || !repeatable(err) || ctx.Err() != nil {
			return err
		}
		if sleep(ctx, retryWait(err, try)) != nil {
			return err
		}
	}
}

// writeJSON sends a call that changes something, v may be nil. It is tried
// again only where the server cannot have taken it: no connection was made,
// or it said to come again later.
func (c *client) writeJSON(ctx context.Context, method, path string, body, v any) error {
	for try := 1; ; try++ {
		err := c.roundTrip(ctx, c.writes, method, path, body, v)
		if err == nil || try == retryTries || !untouched(err) || ctx.Err() != nil {
			return err
		}
		if sleep(ctx, retryWait(err, try)) != nil {
			return err
		}
	}
}

func (c *client) roundTrip(ctx context.Context, rc *resty.Client, method, path string, body, v any) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	resp, err := c.send(ctx, rc, method, path, body, nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if v == nil {
		_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10))
		return nil
	}
	return c.decode(ctx, method, path, resp.Body, v)
}

func (c *client) decode(ctx context.Context, method, path string, body io.Reader, v any) error {
	raw, err := io.ReadAll(io.LimitReader(body, maxAnswer+1))
	if err != nil {
		return c.broken(ctx, method, path, err)
	}
	if len(raw) > maxAnswer {
		return c.bad(method, path, "it is longer than 64 MiB")
	}
	if err := json.Unmarshal(raw, v); err != nil {
		return c.bad(method, path, jsonComplaint(err))
	}
	return nil
}

// send does one exchange and returns the response of a 2xx answer, its body
// open. Every other answer is an error.
func (c *client) send(ctx context.Context, rc *resty.Client, method, path string, body any, header map[string]string) (*http.Response, error) {
	req := rc.R().SetContext(ctx).SetDoNotParseResponse(true).SetHeaders(header)
	if body != nil {
		sent, err := piecesOf(body)
		if err != nil {
			return nil, mapping.Classify(err)
		}
		req.SetHeader("Content-Type", "application/json").SetContext(context.WithValue(ctx, bodyKey{}, sent))
	}
	asking(method)
	resp, err := req.Execute(method, path)
	asked(method)
	if err != nil {
		if resp != nil && resp.RawResponse != nil {
			resp.RawResponse.Body.Close()
		}
		return nil, c.broken(ctx, method, path, err)
	}
	raw := resp.RawResponse
	if raw.StatusCode/100 != 2 {
		defer raw.Body.Close()
		return nil, c.refused(method, path, raw)
	}
	return raw, nil
}

// sleep waits unless ctx ends first.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// retryWait is how long to wait before asking again: what the server said, as
// far as that is reasonable, else a little more each time.
func retryWait(err error, try int) time.Duration {
	var a *answerError
	if errors.As(err, &a) && a.retryAfter > 0 {
		return adapter.Spread(min(a.retryAfter, retryMaxWait))
	}
	return adapter.Spread(time.Duration(try*try) * 50 * time.Millisecond)
}

// retryAfter reads the header of that name in both of its forms (RFC 9110,
// section 10.2.3); 0 when there is none.
func retryAfter(h http.Header) time.Duration {
	value := strings.TrimSpace(h.Get("Retry-After"))
	if n, err := strconv.Atoi(value); err == nil && n > 0 {
		return time.Duration(min(n, 1<<30)) * time.Second // no overflow
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(time.Until(at), 0)
	}
	return 0
}

// asking and asked are the fail points of requests that change something.
func asking(method string) {
	if method != http.MethodGet {
		failpoint.Hit(failpoint.AgentAsked)
	}
}

func asked(method string) {
	if method != http.MethodGet {
		failpoint.Hit(failpoint.AgentAnswered)
	}
}
