package replay

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/apbridge/apbridge/mapping/credential"
)

// keptBody is the maximum size of a body in a recording. A longer body is cut, because it is not a message.
const keptBody = 16 << 20

// keptHeaders are the response headers that matter to a backend. Others may contain confidential values.
var keptHeaders = []string{"Content-Type", "Content-Location", "Location", "Content-Disposition", "Retry-After"}

// Recorder records the exchanges that it passes on. Safe for concurrent use.
type Recorder struct {
	begun atomic.Int64

	secrets credential.Set

	mu  sync.Mutex
	to  *json.Encoder
	err error // the first write error; nothing is written after it
}

// NewRecorder returns a recorder that writes to w. The caller must check Err and close w after the last call.
// Credentials are removed from the URL in head, and secrets are hidden wherever they occur.
func NewRecorder(w io.Writer, head Head, secrets credential.Set) *Recorder {
	r := &Recorder{to: json.NewEncoder(w), secrets: secrets}
	r.to.SetEscapeHTML(false)
	head.Version = version
	if u, err := url.Parse(head.URL); err == nil {
		u.User = nil
		head.URL = u.String()
	}
	r.write(head)
	return r
}

// Through returns a transport that records the calls it passes on to next.
func (r *Recorder) Through(next http.RoundTripper) http.RoundTripper { return &tap{r, next} }

// Count returns the number of calls that have begun.
func (r *Recorder) Count() int { return int(r.begun.Load()) }

// Err returns the reason why the recording is incomplete, or nil.
func (r *Recorder) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

func (r *Recorder) write(line any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.err = r.to.Encode(line)
	}
}

type tap struct {
	*Recorder
	next http.RoundTripper
}

func (t *tap) RoundTrip(req *http.Request) (*http.Response, error) {
	x := &exchange{to: t.Recorder}
	x.N = int(t.begun.Add(1))
	x.Call = Call{Method: req.Method, Target: req.URL.RequestURI(), Type: req.Header.Get("Content-Type")}
	if req.Body != nil && req.Body != http.NoBody {
		req = req.Clone(req.Context())
		req.Body = &copied{ReadCloser: req.Body, into: &x.sent}
		x.sends = true
	}
	var sent atomic.Bool
	ctx := httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{WroteHeaders: func() { sent.Store(true) }})
	res, err := t.next.RoundTrip(req.WithContext(ctx))
	if err != nil {
		x.record(Answer{Error: err.Error(), Sent: sent.Load()})
		return nil, err
	}
	x.Answer = Answer{Status: res.StatusCode, Headers: map[string]string{}}
	for _, name := range keptHeaders {
		if v := res.Header.Get(name); v != "" {
			x.Answer.Headers[name] = v
		}
	}
	x.body = res.Body
	res.Body = x
	return res, nil
}

// CloseIdleConnections is called by http.Client.
func (t *tap) CloseIdleConnections() {
	if c, ok := t.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// exchange is an unfinished exchange and the body of its response.
type exchange struct {
	Exchange
	to    *Recorder
	sends bool // the call has a body
	sent  kept // of the call
	body  io.ReadCloser
	got   kept // of the response
	ended sync.Once
}

func (x *exchange) Read(p []byte) (int, error) {
	n, err := x.body.Read(p)
	x.got.add(p[:n])
	switch {
	case err == io.EOF:
		x.record(x.Answer)
	case err != nil:
		a := x.Answer
		a.Error = err.Error()
		x.record(a)
	}
	return n, err
}

func (x *exchange) Close() error {
	err := x.body.Close()
	a := x.Answer
	a.Left = strings.HasPrefix(a.Headers["Content-Type"], "text/event-stream")
	x.record(a)
	return err
}

func (x *exchange) record(a Answer) {
	x.ended.Do(func() {
		a.Body, x.Call.Body = x.got.body(x.to.hideBody), x.sent.body(x.to.hideBody)
		x.Call.Unread = a.Status == 0 && x.sends && !x.sent.whole()
		x.to.write(x.to.hidden(Exchange{x.N, x.Call, a}))
	})
}

// kept is the recorded part of a body. Safe for concurrent use, because a transport may still read the body after the
// response has arrived.
type kept struct {
	mu  sync.Mutex
	raw bytes.Buffer
	cut bool
	end bool // the body was read to its end
}

func (k *kept) add(p []byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	room := keptBody - k.raw.Len()
	k.cut = k.cut || len(p) > room
	k.raw.Write(p[:min(len(p), room)])
}

func (k *kept) over() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.end = true
}

func (k *kept) whole() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.end
}

func (k *kept) body(hide func(raw []byte, cut bool) []byte) Body {
	k.mu.Lock()
	defer k.mu.Unlock()
	return bodyOf(hide(bytes.Clone(k.raw.Bytes()), k.cut), k.cut)
}

// copied is a body that is recorded while it is sent.
type copied struct {
	io.ReadCloser
	into *kept
}

func (c *copied) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.into.add(p[:n])
	if err == io.EOF {
		c.into.over()
	}
	return n, err
}
