package grader

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/apbridge/apbridge/mapping/pause"
)

// Bounds of one exchange.
const (
	tries       = 4
	firstPause  = 500 * time.Millisecond
	longestWait = 30 * time.Second // for a Retry-After
	answerMost  = 1 << 20          // bytes
	shownMost   = 200              // characters of an answer that people are shown
)

// failure is why a request got no answer that can be read. It is an error.
type failure struct {
	text   string
	status int // of a refusal; 0: there was none
	again  bool
	after  time.Duration // when to come again; 0: not said
}

func (f *failure) Error() string { return f.text }

// ask sends a request, again where the failure may pass.
func (g *Grader) ask(ctx context.Context, body []byte) ([]byte, error) {
	for try := 1; ; try++ {
		raw, f := g.send(ctx, http.MethodPost, "chat/completions", body)
		if f == nil {
			return raw, nil
		}
		if !f.again || try == tries {
			return nil, f
		}
		if err := g.wait(ctx, f.pause(try)); err != nil {
			return nil, fmt.Errorf("%w; then the time was up", f)
		}
	}
}

func (f *failure) pause(try int) time.Duration {
	if f.after > 0 {
		return min(f.after, longestWait)
	}
	return firstPause << (try - 1)
}

var errSlow = errors.New("no answer in time")

func (g *Grader) send(ctx context.Context, method, path string, body []byte) ([]byte, *failure) {
	ctx, stop := context.WithTimeoutCause(ctx, g.cfg.Timeout, errSlow)
	defer stop()
	req, err := http.NewRequestWithContext(ctx, method, g.base.JoinPath(path).String(), bytes.NewReader(body))
	if err != nil {
		return nil, &failure{text: g.secrets.Hide(err.Error())}
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "apbridge-bench")
	if g.cfg.Key != "" {
		req.Header.Set("Authorization", "Bearer "+g.cfg.Key)
	}
	res, err := g.http.Do(req)
	if err != nil {
		return nil, g.unreached(ctx, err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(res.Body, answerMost+1))
	over := len(raw) > answerMost
	if err != nil || over { // what is read may end within the key
		raw = g.secrets.WithoutHalf(raw)
	}
	switch {
	case res.StatusCode != http.StatusOK:
		return nil, g.refused(res, raw)
	case err != nil:
		return nil, g.unreached(ctx, err)
	case over:
		return nil, &failure{text: fmt.Sprintf("the grader answered more than %d MiB", answerMost>>20)}
	}
	return raw, nil
}

// unreached is the failure of a network. A request that took too long is not tried again: the model may have worked for
// it.
func (g *Grader) unreached(ctx context.Context, err error) *failure {
	if errors.Is(context.Cause(ctx), errSlow) {
		return &failure{text: fmt.Sprintf("the grader did not answer within %v (--grader-timeout)", g.cfg.Timeout)}
	}
	if call := new(url.Error); errors.As(err, &call) {
		err = call.Err // without the URL, whose query may hold a secret
	}
	return &failure{text: fmt.Sprintf("the grader at %s was not reached: %s", g.base.Host, g.secrets.Hide(err.Error())), again: ctx.Err() == nil}
}

func (g *Grader) refused(res *http.Response, raw []byte) *failure {
	f := &failure{status: res.StatusCode, text: fmt.Sprintf("the grader answered %d", res.StatusCode)}
	switch {
	case res.StatusCode/100 == 3:
		f.text += ", a redirection, which is not followed; is --grader-url the right one?"
		return f
	case res.StatusCode == http.StatusUnauthorized:
		f.text += " (is GRADER_KEY the right one?)"
	case res.StatusCode == http.StatusTooManyRequests, res.StatusCode >= 500 && res.StatusCode != http.StatusNotImplemented:
		f.again, f.after = true, pause.RetryAfter(res.Header.Get("Retry-After"))
	}
	if len(bytes.TrimSpace(raw)) > 0 {
		f.text += ": " + g.shown(string(raw))
	}
	return f
}
