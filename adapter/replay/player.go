package replay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync"
)

// takesKept is the maximum number of remembered conversations. The oldest are forgotten.
const takesKept = 100

// Player answers calls as a recorded agent did. It answers a call with the first unused exchange that matches. Bodies
// are compared as JSON, UUIDs are mapped to those of the recording, and any two times are equal. Calls that only read
// can be repeated. For a call that does not match a conversation so far, the recording is played again from its start.
// A call that was not recorded gets status 501 and a message about the first difference. Safe for concurrent use.
type Player struct {
	of *Recording

	mu    sync.Mutex
	takes []*take // newest last
}

// NewPlayer returns a player of a recording.
func NewPlayer(of *Recording) *Player { return &Player{of: of} }

// Through returns the player, for adapter.Upstream.Through. No call uses the network.
func (p *Player) Through(http.RoundTripper) http.RoundTripper { return p }

// RoundTrip answers a call from the recording.
func (p *Player) RoundTrip(req *http.Request) (*http.Response, error) {
	now, err := callOf(req)
	if err != nil {
		return nil, err
	}
	a, differs := p.find(now)
	switch {
	case differs != "":
		a = refusal(differs)
	case a.Status == 0:
		if a.Sent {
			pretendSent(req.Context())
		}
		return nil, errors.New(a.Error)
	}
	return response(req, a), nil
}

func callOf(req *http.Request) (c Call, err error) {
	c = Call{Method: req.Method, Target: req.URL.RequestURI(), Type: req.Header.Get("Content-Type")}
	if req.Body == nil {
		return c, nil
	}
	defer req.Body.Close()
	var sent kept
	if _, err := io.Copy(writer{&sent}, req.Body); err != nil {
		return c, err
	}
	c.Body = sent.body(func(raw []byte, _ bool) []byte { return raw })
	return c, nil
}

type writer struct{ *kept }

func (w writer) Write(p []byte) (int, error) {
	w.add(p)
	return len(p), nil
}

// find returns the answer to a call. If there is none, differs is the reason.
func (p *Player) find(now Call) (a Answer, differs string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, t := range p.takes {
		if a, ok := t.answer(now); ok {
			return a, ""
		}
	}
	fresh := newTake(p.of, len(p.takes) == 0)
	if a, ok := fresh.answer(now); ok {
		p.takes = append(p.takes[max(0, len(p.takes)-takesKept+1):], fresh)
		return a, ""
	}
	return Answer{}, p.differs(now, fresh)
}

// differs returns a message that compares a call with the one that was recorded in its place. That is a call in the
// newest conversation, possibly a new one, that has an unused call with the same method and path, or else in the newest
// with any unused call. If there is none, the recording ends before the call.
func (p *Player) differs(now Call, fresh *take) string {
	due, diff, alike := fresh.next(now)
	if len(p.takes) > 0 && !alike {
		due = nil // no new conversation begins
	}
	for _, t := range p.takes {
		if e, d, like := t.next(now); e != nil && (like || !alike) {
			due, diff, alike = e, d, like
		}
	}
	asked := now.Method + " " + now.Target
	switch {
	case due == nil && len(p.of.Exchanges) > 0:
		return fmt.Sprintf("%s was not recorded: it comes after the last of the recording's %d calls. Record the run again.", asked, len(p.of.Exchanges))
	case due == nil:
		return fmt.Sprintf("%s was not recorded: the recording has no call. Record the run again.", asked)
	}
	return fmt.Sprintf("%s was not recorded. Call %d of the recording is %s %s: %s. Record the run again, or undo the change.", asked, due.N, due.Call.Method, due.Call.Target, diff)
}

// refusal returns an answer with a message that the backends of both dialects can read.
func refusal(why string) Answer {
	text, err := json.Marshal(map[string]string{"detail": "replay: " + why, "error": "replay: " + why})
	if err != nil {
		text = nil
	}
	return Answer{Status: http.StatusNotImplemented, Headers: map[string]string{"Content-Type": "application/json"}, Body: bodyOf(text, false)}
}

func response(req *http.Request, a Answer) *http.Response {
	res := &http.Response{
		StatusCode: a.Status, Status: fmt.Sprintf("%d %s", a.Status, http.StatusText(a.Status)),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{}, Request: req, ContentLength: -1,
	}
	for name, value := range a.Headers {
		res.Header.Set(name, value)
	}
	res.Body = &playedBody{text: strings.NewReader(a.Body.raw()), a: a, ctx: req.Context(), closed: make(chan struct{})}
	return res
}

// playedBody is the body of an answer. It ends like the recorded one.
type playedBody struct {
	text   *strings.Reader
	a      Answer
	ctx    context.Context
	once   sync.Once
	closed chan struct{}
}

func (t *playedBody) Read(p []byte) (int, error) {
	n, err := t.text.Read(p)
	if err != io.EOF {
		return n, err
	}
	switch {
	case t.a.Body.Cut:
		return n, fmt.Errorf("replay: the recording contains only the first %d bytes of this response", keptBody)
	case t.a.Error != "":
		return n, errors.New(t.a.Error)
	case t.a.Left:
		select {
		case <-t.ctx.Done():
			return n, t.ctx.Err()
		case <-t.closed:
			return n, net.ErrClosed
		}
	}
	return n, io.EOF
}

func (t *playedBody) Close() error {
	t.once.Do(func() { close(t.closed) })
	return nil
}

// pretendSent makes the observers of a call (in package upstream) treat it as written.
func pretendSent(ctx context.Context) {
	trace := httptrace.ContextClientTrace(ctx)
	if trace == nil {
		return
	}
	if trace.GotConn != nil {
		ours, theirs := net.Pipe()
		_, _ = ours.Close(), theirs.Close()
		trace.GotConn(httptrace.GotConnInfo{Conn: ours})
	}
	if trace.WroteHeaders != nil {
		trace.WroteHeaders()
	}
}
