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

// Request is sent once and unchanged.
type Request struct {
	Method, Path string // the path below the server's URL, with its query
	Type         string // content type; "" means JSON if there is a body
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

// Talk sends the requests of one check. After Fail or Skip it sends no more requests and its answers are empty, so a
// check need not test for errors between requests. Not for concurrent use.
type Talk struct {
	server  *Server
	ctx     context.Context //nolint:containedctx // a Talk lives as long as one call
	end     context.CancelFunc
	verdict *verdict
	last    exchange
}

// exchange is a request and its response in the form of results.
type exchange struct{ sent, came string }

// Agent returns the agent named on the command line, or "".
func (t *Talk) Agent() string { return t.server.Agent }

// Over reports whether the check has failed or was skipped.
func (t *Talk) Over() bool { return t.verdict != nil }

// Fail fails the check, with the last request and its response. Only the first call of Fail or Skip counts.
func (t *Talk) Fail(format string, args ...any) {
	if t.verdict == nil {
		t.verdict = &verdict{status: Failed, reason: fmt.Sprintf(format, args...), sent: t.last.sent, came: t.last.came}
	}
}

// Skip skips the check, because its rule cannot be observed.
func (t *Talk) Skip(format string, args ...any) {
	if t.verdict == nil {
		t.verdict = &verdict{status: Skipped, reason: fmt.Sprintf(format, args...)}
	}
}

// Fits fails the check unless a value has the shape. at names the value.
func (t *Talk) Fits(s Shape, v any, at string) {
	if t.Over() {
		return
	}
	if wrong := s(v, at); wrong != "" {
		t.Fail("%s", printable(wrong))
	}
}

// Remove makes Server.Clean send a request that deletes an object.
func (t *Talk) Remove(what string, r Request) {
	if !t.Over() {
		t.server.created = append(t.server.created, created{what, r})
	}
}

func (t *Talk) Get(path string) Answer { return t.Send(Request{Method: http.MethodGet, Path: path}) }

// Delete sends a DELETE without a body.
func (t *Talk) Delete(path string) Answer {
	return t.Send(Request{Method: http.MethodDelete, Path: path})
}

// Post sends a value as JSON.
func (t *Talk) Post(path string, body any) Answer { return t.Put(http.MethodPost, path, body) }

// Put sends a value as JSON with any method.
func (t *Talk) Put(method, path string, body any) Answer {
	return t.Send(Request{Method: method, Path: path, Body: t.JSON(body)})
}

// JSON returns a value as the body of a request.
func (t *Talk) JSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		t.Fail("the request cannot be encoded: %v", err)
	}
	return string(text)
}

// PathOf returns the path of a URL below the server's, and whether it is there.
func (t *Talk) PathOf(url string) (path string, here bool) {
	path, here = strings.CutPrefix(url, t.server.Base)
	return path, here && (path == "" || path[0] == '/')
}

// Send sends a request and reads the response.
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
		t.Fail("the response broke off: %s", t.why(err))
	case len(body) > maxBody:
		t.Fail("the response has more than %d MiB", maxBody>>20)
	}
	return a
}

// open sends a request. It returns nil if there is no response or the check is over.
func (t *Talk) open(r Request) *http.Response {
	if t.Over() {
		return nil
	}
	t.last = exchange{sent: strings.TrimSpace(r.Method + " " + r.Path + " " + excerpt(r.Body))}
	req, err := r.build(t.ctx, t.server)
	if err != nil {
		t.Fail("the request cannot be encoded: %v", err)
		return nil
	}
	res, err := t.server.client.Do(req)
	if err != nil {
		t.Fail("no response: %s", t.why(err))
		return nil
	}
	t.server.denied = t.server.denied || res.StatusCode == http.StatusUnauthorized || res.StatusCode == http.StatusForbidden
	return res
}

// why returns a readable description of an error, without the server's URL.
func (t *Talk) why(err error) string {
	if errors.Is(context.Cause(t.ctx), errLate) {
		return fmt.Sprintf("the check exceeded its time limit of %v", t.server.Timeout)
	}
	return strings.ReplaceAll(err.Error(), t.server.Base, "")
}

// described returns a one-line summary of a response.
func described(res *http.Response, body []byte) string {
	kind, _, _ := strings.Cut(res.Header.Get("Content-Type"), ";")
	return strings.Join(strings.Fields(fmt.Sprintf("%d %s %s", res.StatusCode, printable(kind), excerpt(string(body)))), " ")
}

// excerpt returns the beginning of a text on one line, safe for a terminal.
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

// printable replaces control characters and invalid UTF-8.
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
