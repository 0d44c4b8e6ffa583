package upstream

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"

	"github.com/apbridge/apbridge/mapping/failpoint"
	"github.com/apbridge/apbridge/mapping/pause"
)

// refusalLimit limits how many bytes of an error response are read.
const refusalLimit = 64 << 10

// ErrTooLong is the error of a Failure of kind BadAnswer whose response was longer than Options.Limit.
var ErrTooLong = errors.New("the response exceeds the size limit")

// Answer is a complete response with a status of 2xx.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Do makes a call and reads the response, in up to three attempts. It retries any call if the agent was not reached or
// has done nothing (Options.Later). It also retries a call that changes nothing if the response broke off, or if the
// agent or a gateway in front of it responded with 429, 502, 503 or 504.
func (c *Client) Do(ctx context.Context, call *Call) (*Answer, error) {
	return attempts(ctx, c, call, c.Once)
}

// Open is like Do, but the caller reads and closes the body of the response. Reading fails once ctx has ended.
func (c *Client) Open(ctx context.Context, call *Call) (*http.Response, error) {
	return attempts(ctx, c, call, c.OpenOnce)
}

// attempts makes a call until it succeeds or must not be repeated.
func attempts[T any](ctx context.Context, c *Client, call *Call, once func(context.Context, *Call) (T, error)) (T, error) {
	for try := 1; ; try++ {
		got, err := once(ctx, call)
		if err == nil || try == Tries || ctx.Err() != nil || !c.again(call, err) {
			return got, err
		}
		if pause.For(ctx, Wait(err, try)) != nil {
			return got, err
		}
	}
}

// Once is like Do with a single attempt.
func (c *Client) Once(ctx context.Context, call *Call) (*Answer, error) {
	limited := ctx
	if call.Time > 0 {
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeout(ctx, call.Time)
		defer cancel()
	}
	res, err := c.send(limited, call)
	if err != nil {
		hit(call, failpoint.AgentAnswered)
		return nil, c.broken(ctx, limited, err)
	}
	defer res.Body.Close()
	if res.StatusCode/100 != 2 {
		defer hit(call, failpoint.AgentAnswered)
		return nil, c.refused(ctx, limited, res)
	}
	raw, err := c.read(ctx, limited, res)
	hit(call, failpoint.AgentAnswered)
	if err != nil {
		return nil, err
	}
	return &Answer{Status: res.StatusCode, Header: res.Header, Body: raw}, nil
}

// OpenOnce is like Open with a single attempt.
func (c *Client) OpenOnce(ctx context.Context, call *Call) (*http.Response, error) {
	res, err := c.send(ctx, call)
	hit(call, failpoint.AgentAnswered)
	if err != nil {
		return nil, c.broken(ctx, ctx, err)
	}
	if res.StatusCode/100 != 2 {
		defer res.Body.Close()
		return nil, c.refused(ctx, ctx, res)
	}
	return res, nil
}

// Broken returns the Failure for an error from reading an opened response.
func (c *Client) Broken(ctx context.Context, err error) error { return c.broken(ctx, ctx, err) }

// Read reads the rest of an opened response.
func (c *Client) Read(ctx context.Context, res *http.Response) ([]byte, error) {
	return c.read(ctx, ctx, res)
}

func (c *Client) read(ctx, limited context.Context, res *http.Response) ([]byte, error) {
	raw, err := readAll(res.Body, c.opt.Limit, res.ContentLength)
	switch {
	case errors.Is(err, ErrTooLong):
		return nil, &Failure{Kind: BadAnswer, Status: res.StatusCode, Header: res.Header, Err: err}
	case err != nil:
		return nil, c.broken(ctx, limited, err)
	}
	return raw, nil
}

// refused reads an error response and returns its Failure, even if the body breaks off. After a status of 500 or more,
// the connection is not reused, because some servers drop it silently.
func (c *Client) refused(ctx, limited context.Context, res *http.Response) error {
	raw, err := readAll(res.Body, refusalLimit, res.ContentLength)
	if err != nil && limited.Err() != nil {
		return c.broken(ctx, limited, err)
	}
	if err != nil { // the part read may end within a credential
		raw = c.secrets.WithoutHalf(raw)
	}
	if res.StatusCode >= http.StatusInternalServerError {
		c.CloseIdle()
	}
	return &Failure{Kind: Refused, Status: res.StatusCode, Header: res.Header, Body: raw}
}

// readAll reads up to limit bytes and returns ErrTooLong if there are more. expect is the announced length, negative if
// unknown. At most a megabyte is allocated in advance. A response of the announced length gets a slice without spare
// capacity, because the log of a run keeps its responses.
func readAll(r io.Reader, limit, expect int64) ([]byte, error) {
	if expect < 0 {
		expect = bytes.MinRead
	}
	r = io.LimitReader(r, limit+1)
	b := make([]byte, 0, min(expect, limit, 1<<20)+1) // one byte more to find the end
	for {
		n, err := r.Read(b[len(b):cap(b)])
		switch b = b[:len(b)+n]; {
		case err == io.EOF && int64(len(b)) > limit:
			return b[:limit], ErrTooLong
		case err == io.EOF:
			return b, nil
		case err != nil:
			return b, err
		case len(b) == cap(b):
			b = slices.Grow(b, 1)
		}
	}
}
