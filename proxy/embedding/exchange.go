package embedding

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/pause"
)

const (
	tries       = 4
	firstPause  = 200 * time.Millisecond
	longestWait = 30 * time.Second // maximum for a Retry-After
	shownMost   = 200              // characters of a refusal that are shown
	refusalMost = 64 << 10         // bytes of a refusal that are read
	answerFloor = 64 << 10         // bytes of a response, in addition to its numbers
	numberMost  = 32               // maximum bytes of a number in a response

	statusTimeout = 524 // Cloudflare's 504
)

// codeFailed is the code of every failure of an endpoint.
const codeFailed = "embeddings_failed"

// failure is the reason why a request returned no vectors.
type failure struct {
	status int // of a refusal; otherwise 0
	text   string
	words  string        // the endpoint's text, which may quote the request
	after  time.Duration // time before a retry; 0 if unknown
	again  bool          // a retry may succeed
	late   bool          // no answer in time; a smaller request may get one
	empty  bool          // a vector has no direction
	err    error
}

func (f *failure) Error() string {
	text := f.text
	if f.words != "" {
		text += ": " + f.words
	}
	if f.err != nil {
		text += ": " + f.err.Error()
	}
	return text
}

func (f *failure) Unwrap() error { return f.err }

// failed returns a permanent failure.
func failed(err error, format string, args ...any) *failure {
	return &failure{text: fmt.Sprintf(format, args...), err: err}
}

// ask sends a request, with retries if they may succeed. A request without a response in time is not repeated
// unchanged. Its errors are of class Upstream.
func (c *Client) ask(ctx context.Context, texts []string, tries int) ([][]float32, error) {
	var f *failure
	for try := 1; ; try++ {
		var list [][]float32
		if list, f = c.once(ctx, texts); f == nil {
			return list, nil
		}
		if !f.again || try >= tries {
			break
		}
		if err := pause.For(ctx, f.wait(try)); err != nil {
			return nil, err
		}
	}
	return nil, upstreamError(f)
}

func upstreamError(f *failure) error {
	return &mapping.Error{Class: mapping.Upstream, Code: codeFailed, Message: "The embeddings endpoint of store.index failed.", Err: f}
}

// withoutWords returns a failure without the endpoint's text.
func withoutWords(err error) error { return withWords(err, nil) }

// withWords returns a failure whose endpoint text is replaced with that of another failure.
func withWords(err, other error) error {
	var f, o *failure
	if !errors.As(err, &f) {
		return err
	}
	said := *f
	if said.words = ""; errors.As(other, &o) {
		said.words = o.words
	}
	return upstreamError(&said)
}

func (f *failure) wait(try int) time.Duration {
	if f.after > 0 {
		return min(f.after, longestWait)
	}
	return time.Duration(try*try) * firstPause
}

// once sends one request. base64 needs a third of the bytes of digits, but an endpoint that has never sent it may
// refuse the parameter.
func (c *Client) once(ctx context.Context, texts []string) ([][]float32, *failure) {
	if c.plain.Load() {
		return c.send(ctx, texts, "")
	}
	list, f := c.send(ctx, texts, "base64")
	if f == nil || c.coded.Load() || f.status != http.StatusBadRequest && f.status != http.StatusUnprocessableEntity {
		return list, f
	}
	list, f = c.send(ctx, texts, "")
	if f == nil {
		c.plain.Store(true)
	}
	return list, f
}

// request is the body according to OpenAI's reference (API reference, Embeddings, Create).
type request struct {
	Model    string   `json:"model"`
	Input    []string `json:"input"`
	Encoding string   `json:"encoding_format,omitempty"`
}

func (c *Client) send(ctx context.Context, texts []string, encoding string) ([][]float32, *failure) {
	body, err := json.Marshal(request{c.cfg.Model(), texts, encoding})
	if err != nil {
		return nil, failed(err, "the request cannot be written")
	}
	ctx, stop := context.WithTimeout(ctx, c.cfg.Timeout)
	defer stop()
	res, err := c.rc.R().SetContext(ctx).SetBody(body).Post(c.target)
	if res != nil && res.RawResponse != nil {
		defer res.RawResponse.Body.Close()
	}
	if err != nil {
		return nil, c.broken("is unreachable", err)
	}
	raw, f := c.read(res.RawResponse, len(texts))
	if f != nil {
		return nil, f
	}
	list, coded, f := c.vectors(raw, len(texts))
	if coded {
		c.coded.Store(true)
	}
	return list, f
}

// read returns the body of a successful response.
func (c *Client) read(res *http.Response, texts int) ([]byte, *failure) {
	most := answerFloor + texts*c.cfg.Dims*numberMost
	if res.StatusCode != http.StatusOK {
		return nil, c.refused(res)
	}
	raw, err := io.ReadAll(io.LimitReader(res.Body, int64(most)+1))
	switch {
	case err != nil:
		return nil, c.broken("its response broke off", err)
	case len(raw) > most:
		return nil, failed(nil, "its response is longer than %d bytes, more than %d vectors of %d numbers need", most, texts, c.cfg.Dims)
	}
	return raw, nil
}

func (c *Client) refused(res *http.Response) *failure {
	f := failed(nil, "responded with %d", res.StatusCode)
	f.status = res.StatusCode
	switch {
	case res.StatusCode >= 300 && res.StatusCode < 400:
		f.text += ", a redirect, which is not followed; is store.index.url correct?"
		return f
	case res.StatusCode == http.StatusGatewayTimeout, res.StatusCode == http.StatusRequestTimeout, res.StatusCode == statusTimeout:
		f.late = true
	case res.StatusCode == http.StatusTooManyRequests, res.StatusCode >= 500 && res.StatusCode != http.StatusNotImplemented:
		f.again, f.after = true, pause.RetryAfter(res.Header.Get("Retry-After"))
	}
	raw, err := io.ReadAll(io.LimitReader(res.Body, refusalMost)) // the status counts even if the body breaks off
	if err != nil || len(raw) == refusalMost {
		raw = c.secrets.WithoutHalf(raw)
	}
	f.words = c.secrets.Excerpt(string(raw), shownMost)
	return f
}

// broken returns a failure of the network.
func (c *Client) broken(text string, err error) *failure {
	late := errors.Is(err, context.DeadlineExceeded)
	return &failure{text: text, again: !late, late: late, err: c.hidden(err)}
}

// hidden returns the network's error without the URL, which may contain secrets.
func (c *Client) hidden(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	return errors.New(c.secrets.Hide(err.Error()))
}
