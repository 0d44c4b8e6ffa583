package upstream

import (
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"
	"unique"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping/credential"
)

// keptBody is the number of bytes kept from the beginning of a body (adapter.AgentCall).
const keptBody = 64 << 10

// keeper is a transport that keeps a call if its context requests it (adapter.WithCallKeeper).
type keeper struct {
	secrets credential.Set
	next    http.RoundTripper
}

func (k *keeper) RoundTrip(req *http.Request) (*http.Response, error) {
	to := adapter.CallKeeperOf(req.Context())
	if to == nil {
		return k.next.RoundTrip(req)
	}
	c := &openCall{keptCall: keptCall{secrets: k.secrets}, to: to, keeps: to.Begin()}
	req = c.noteRequest(req)
	res, err := k.next.RoundTrip(req)
	if err != nil {
		c.handOver(err)
		return nil, err
	}
	c.answered(res)
	return res, nil
}

// CloseIdleConnections is called by http.Client.
func (k *keeper) CloseIdleConnections() {
	if c, ok := k.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// openCall is an unfinished call and the body of its response. Close may be called concurrently with Read.
type openCall struct {
	keptCall
	to       adapter.CallKeeper
	keeps    bool
	target   *url.URL    // target and the headers are never modified after the call
	request  http.Header // header of the request
	answer   http.Header
	sent     first
	received first
	body     io.ReadCloser
	ended    sync.Once
}

// noteRequest records the request. The returned request records its body while it is sent.
func (c *openCall) noteRequest(req *http.Request) *http.Request {
	c.at = time.Now()
	if !c.keeps {
		return req
	}
	c.method, c.target, c.request = req.Method, req.URL, req.Header
	c.sent.reserve, c.received.reserve = c.to.Reserve, c.to.Reserve
	if req.Body == nil || req.Body == http.NoBody {
		return req
	}
	recorded := *req
	recorded.Body = &recordedBody{ReadCloser: req.Body, to: &c.sent}
	return &recorded
}

func (c *openCall) answered(res *http.Response) {
	c.status, c.answer = res.StatusCode, res.Header
	c.body = res.Body
	res.Body = c
}

func (c *openCall) Read(p []byte) (int, error) {
	n, err := c.body.Read(p)
	if c.keeps {
		c.received.add(p[:n])
	}
	switch {
	case err == io.EOF:
		c.handOver(nil)
	case err != nil:
		c.handOver(err)
	}
	return n, err
}

func (c *openCall) Close() error {
	err := c.body.Close()
	c.handOver(nil)
	return err
}

func (c *openCall) handOver(err error) {
	c.ended.Do(func() {
		if !c.keeps {
			c.to.End(nil)
			return
		}
		kept := c.keptCall // a copy, so that the bodies of openCall are not retained
		kept.url, kept.asked, kept.header = shownURL(c.target), linesOf(c.request), linesOf(c.answer)
		kept.err, kept.took = err, time.Since(c.at)
		kept.sentBody, kept.sentSize = c.sent.stop()
		kept.receivedBody, kept.receivedSize = c.received.stop()
		c.to.End(&kept)
	})
}

// keptCall is a finished call as it was sent. Secrets are only removed when it is shown (adapter.EndedCall), because
// most calls never are. An active run may have many calls, so headers are kept as text, which takes a third of the
// memory of maps.
type keptCall struct {
	secrets credential.Set
	at      time.Time
	took    time.Duration
	method  string
	url     unique.Handle[string]
	asked   headerLines // of the request
	status  int
	header  headerLines // of the answer
	err     error

	sentBody, receivedBody []byte
	sentSize, receivedSize int64
}

// Reserved implements adapter.EndedCall.
func (c *keptCall) Reserved() int { return len(c.sentBody) + len(c.receivedBody) }

// Shown implements adapter.EndedCall.
func (c *keptCall) Shown() adapter.AgentCall {
	shown := adapter.AgentCall{
		At: c.at, Took: c.took, Method: c.method, URL: string(c.secrets.HideKnown([]byte(c.url.Value()))), Status: c.status,
		Sent:     part(c.secrets, c.asked, c.sentBody, c.sentSize),
		Received: part(c.secrets, c.header, c.receivedBody, c.receivedSize),
	}
	if c.err != nil {
		shown.Error = c.secrets.Hide(c.err.Error())
	}
	return shown
}

// recordedBody is a request body that is recorded while it is sent.
type recordedBody struct {
	io.ReadCloser
	to *first
}

func (t *recordedBody) Read(p []byte) (int, error) {
	n, err := t.ReadCloser.Read(p)
	t.to.add(p[:n])
	return n, err
}

// first holds the beginning of a body. Safe for concurrent use, because a transport may still read the body after the
// response has arrived.
type first struct {
	reserve func(n int) int

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
	got := f.reserve(n)
	f.full = got < len(p)
	f.raw = append(f.raw, p[:got]...)
}

// stop returns the kept bytes and the size of the body so far. Later bytes are ignored.
func (f *first) stop() ([]byte, int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	kept := f.raw
	f.raw, f.full = nil, true
	return kept, f.size
}

// part returns the request or response of a call without secrets. It does not modify kept.
func part(s credential.Set, h headerLines, kept []byte, size int64) adapter.CallPart {
	p := adapter.CallPart{Header: h.shown(s), Size: size}
	cut := size > int64(len(kept))
	if cut {
		kept = s.WithoutHalf(kept)
	}
	p.Body = s.HideKnown(kept)
	if p.Kept = len(p.Body); !cut {
		p.Size = int64(p.Kept)
	}
	return p
}
