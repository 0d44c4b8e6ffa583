package upstream

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/apbridge/apbridge/adapter"
)

// keptBody is how much of a body is kept of a call (adapter.AgentCall): its first bytes.
const keptBody = 64 << 10

// shownHeaders are those whose values are kept. Of all others only the names are: what a header holds that
// is not known may grant access.
var shownHeaders = []string{
	"Accept", "Accept-Encoding", "Allow", "Cache-Control", "Cdn-Loop", "Connection", "Content-Disposition", "Content-Encoding", "Content-Length",
	"Content-Location", "Content-Type", "Date", "Etag", "Idempotency-Key", "Last-Event-Id", "Last-Modified", "Location", "Retry-After", "Server",
	"Traceparent", "Transfer-Encoding", "User-Agent", "Vary", "X-Request-Id",
}

// hiddenText stands for what is not shown.
const hiddenText = "[hidden]"

// keeper has the calls of runs kept where their context asks for it (adapter.WithCallKeeper).
type keeper struct {
	secrets secrets
	next    http.RoundTripper
}

func (k *keeper) RoundTrip(req *http.Request) (*http.Response, error) {
	to := adapter.CallKeeperOf(req.Context())
	if to == nil {
		return k.next.RoundTrip(req)
	}
	c := &keptCall{to: to, secrets: k.secrets, keeps: to.Begin()}
	req = c.begin(req)
	res, err := k.next.RoundTrip(req)
	if err != nil {
		c.end(err)
		return nil, err
	}
	c.answered(res)
	return res, nil
}

// CloseIdleConnections is as of http.Client.
func (k *keeper) CloseIdleConnections() {
	if c, ok := k.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// keptCall is one that is under way, and the body of its answer. Close may be called beside Read.
type keptCall struct {
	adapter.AgentCall
	to       adapter.CallKeeper
	secrets  secrets
	keeps    bool
	sent     first
	received first
	body     io.ReadCloser
	ended    sync.Once
}

// begin notes what is asked. The request that is returned tells of its body while it is read.
func (c *keptCall) begin(req *http.Request) *http.Request {
	c.At = time.Now()
	if !c.keeps {
		return req
	}
	target := *req.URL
	target.User = nil
	c.Method, c.URL = req.Method, c.secrets.redact(target.String())
	c.Sent.Header = c.secrets.headers(req.Header)
	c.sent.room, c.received.room = c.to.Room, c.to.Room
	if req.Body == nil || req.Body == http.NoBody {
		return req
	}
	told := *req
	told.Body = &telling{ReadCloser: req.Body, to: &c.sent}
	return &told
}

func (c *keptCall) answered(res *http.Response) {
	if c.keeps {
		c.Status, c.Received.Header = res.StatusCode, c.secrets.headers(res.Header)
	}
	c.body = res.Body
	res.Body = c
}

func (c *keptCall) Read(p []byte) (int, error) {
	n, err := c.body.Read(p)
	if c.keeps {
		c.received.add(p[:n])
	}
	switch {
	case err == io.EOF:
		c.end(nil)
	case err != nil:
		c.end(err)
	}
	return n, err
}

func (c *keptCall) Close() error {
	err := c.body.Close()
	c.end(nil)
	return err
}

func (c *keptCall) end(err error) {
	c.ended.Do(func() {
		if !c.keeps {
			c.to.End(nil)
			return
		}
		if err != nil {
			c.Error = c.secrets.redact(err.Error())
		}
		c.Took = time.Since(c.At)
		c.sent.into(&c.Sent, c.secrets)
		c.received.into(&c.Received, c.secrets)
		kept := c.AgentCall
		c.to.End(&kept)
	})
}

// telling is a body that is kept while it is sent.
type telling struct {
	io.ReadCloser
	to *first
}

func (t *telling) Read(p []byte) (int, error) {
	n, err := t.ReadCloser.Read(p)
	t.to.add(p[:n])
	return n, err
}

// first are the first bytes of a body. Safe for concurrent use: a transport may read a body on when its
// answer is there.
type first struct {
	room func(n int) int

	mu   sync.Mutex
	size int64
	raw  []byte
	full bool
}

func (f *first) add(p []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.size += int64(len(p))
	if f.full || len(p) == 0 {
		return
	}
	n := min(len(p), keptBody-len(f.raw))
	got := f.room(n)
	f.full = got < len(p)
	f.raw = append(f.raw, p[:got]...)
}

// into writes down what was kept. What comes later is of no call that is kept.
func (f *first) into(p *adapter.CallPart, s secrets) {
	f.mu.Lock()
	defer f.mu.Unlock()
	p.Size, p.Body = f.size, f.raw
	f.raw, f.full = nil, true
	cut := p.Size > int64(len(p.Body))
	if cut {
		p.Body = s.withoutHalf(p.Body)
	}
	p.Body = s.redactBytes(p.Body)
	if p.Kept = len(p.Body); !cut {
		p.Size = int64(p.Kept)
	}
}

// secrets are what must never be shown.
type secrets []string

func (s secrets) redact(text string) string {
	for _, secret := range s {
		text = strings.ReplaceAll(text, secret, hiddenText)
	}
	return text
}

func (s secrets) redactBytes(b []byte) []byte {
	for _, secret := range s {
		if bytes.Contains(b, []byte(secret)) {
			b = bytes.ReplaceAll(b, []byte(secret), []byte(hiddenText))
		}
	}
	return b
}

// withoutHalf is a text that was cut off, without the beginning of a secret at its end.
func (s secrets) withoutHalf(b []byte) []byte {
	longest := 0
	for _, secret := range s {
		for n := min(len(secret)-1, len(b)); n > longest; n-- {
			if bytes.HasSuffix(b, []byte(secret[:n])) {
				longest = n
			}
		}
	}
	return b[:len(b)-longest]
}

func (s secrets) headers(h http.Header) map[string]string {
	shown := make(map[string]string, len(h))
	for name, values := range h {
		if slices.Contains(shownHeaders, name) {
			shown[name] = s.redact(strings.Join(values, ", "))
		} else {
			shown[name] = hiddenText
		}
	}
	return shown
}
