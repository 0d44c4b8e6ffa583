package check

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"unicode/utf8"
)

// Request is sent once, as it is.
type Request struct {
	Method, Path string // the path with its query, below the server's URL
	Type         string // content type; "" for JSON where there is a body
	Body         string
	Header       map[string]string
}

func (r Request) build(ctx context.Context, s *Server) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, r.Method, s.Base+r.Path, bytes.NewReader([]byte(r.Body)))
	if err != nil {
		return nil, err
	}
	req.Header = s.Header.Clone()
	if req.Header == nil {
		req.Header = http.Header{}
	}
	req.Header.Set("User-Agent", "apbridge-conformance")
	if r.Type != "" {
		req.Header.Set("Content-Type", r.Type)
	} else if r.Body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for name, value := range r.Header {
		req.Header.Set(name, value)
	}
	return req, nil
}

// Talk is the requests of one check. The first thing that is wrong ends it: after that nothing is sent, and answers are
// empty. Not for concurrent use.
type Talk struct {
	server  *Server
	ctx     context.Context //nolint:containedctx // a talk is one call
	end     context.CancelFunc
	verdict *verdict
	last    exchange
}

// exchange is a request and its answer, as results show them.
type exchange struct{ sent, came string }

// Agent returns the agent that the command line names; "" for none.
func (t *Talk) Agent() string { return t.server.Agent }

// Over reports whether the check has its verdict, as after Fail and Skip: nothing more is sent then.
func (t *Talk) Over() bool { return t.verdict != nil }

// Fail ends the check: the rule is not kept. The last request and its answer show it.
func (t *Talk) Fail(format string, args ...any) {
	if t.verdict == nil {
		t.verdict = &verdict{status: Failed, reason: fmt.Sprintf(format, args...), sent: t.last.sent, came: t.last.came}
	}
}

// Skip ends the check: it cannot be seen whether the rule is kept.
func (t *Talk) Skip(format string, args ...any) {
	if t.verdict == nil {
		t.verdict = &verdict{status: Skipped, reason: fmt.Sprintf(format, args...)}
	}
}

// Remove has Server.Clean send a request that removes something, when all checks are made.
func (t *Talk) Remove(what string, r Request) {
	if !t.Over() {
		t.server.remains = append(t.server.remains, remains{what, r})
	}
}

// Get sends a GET.
func (t *Talk) Get(path string) Answer { return t.Send(Request{Method: http.MethodGet, Path: path}) }

// Delete sends a DELETE without a body.
func (t *Talk) Delete(path string) Answer {
	return t.Send(Request{Method: http.MethodDelete, Path: path})
}

// Post sends a value as JSON.
func (t *Talk) Post(path string, body any) Answer { return t.Put(http.MethodPost, path, body) }

// Put sends a value as JSON by any method.
func (t *Talk) Put(method, path string, body any) Answer {
	text, err := json.Marshal(body)
	if err != nil {
		t.Fail("the request cannot be written: %v", err)
	}
	return t.Send(Request{Method: method, Path: path, Body: string(text)})
}

// Send sends a request and reads its answer.
func (t *Talk) Send(r Request) Answer {
	res := t.open(r)
	if res == nil {
		return Answer{talk: t}
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxBody+1))
	a := Answer{talk: t, Status: res.StatusCode, Header: res.Header, Body: body}
	t.last.came = described(res, body)
	a.shown = t.last
	switch {
	case err != nil:
		t.Fail("the answer broke off: %s", t.why(err))
	case len(body) > maxBody:
		t.Fail("the answer has more than %d MiB", maxBody>>20)
	}
	return a
}

// open sends a request; nil when there is no answer, or nothing was sent.
func (t *Talk) open(r Request) *http.Response {
	if t.Over() {
		return nil
	}
	t.last = exchange{sent: strings.TrimSpace(r.Method + " " + r.Path + " " + excerpt(r.Body))}
	req, err := r.build(t.ctx, t.server)
	if err != nil {
		t.Fail("the request cannot be written: %v", err)
		return nil
	}
	res, err := t.server.client.Do(req)
	if err != nil {
		t.Fail("there was no answer: %s", t.why(err))
		return nil
	}
	t.server.denied = t.server.denied || res.StatusCode == http.StatusUnauthorized || res.StatusCode == http.StatusForbidden
	return res
}

// why returns of an error what a reader needs: of the time limit its length.
func (t *Talk) why(err error) string {
	if errors.Is(context.Cause(t.ctx), errLate) {
		return fmt.Sprintf("the time limit of %v for one check has passed", t.server.Timeout)
	}
	return strings.ReplaceAll(err.Error(), t.server.Base, "")
}

// described is an answer on one line.
func described(res *http.Response, body []byte) string {
	kind, _, _ := strings.Cut(res.Header.Get("Content-Type"), ";")
	return strings.Join(strings.Fields(fmt.Sprintf("%d %s %s", res.StatusCode, printable(kind), excerpt(string(body)))), " ")
}

// excerpt is the beginning of a text, on one line and safe for a terminal.
func excerpt(text string) string {
	const most = 300
	if len(text) <= most {
		return printable(text)
	}
	cut := most
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return printable(text[:cut]) + "…"
}

// printable has no control characters and no invalid UTF-8.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case r < ' ' || r >= 0x7f && r < 0xa0:
			return '\uFFFD'
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
}
