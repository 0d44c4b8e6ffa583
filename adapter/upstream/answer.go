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

// refusalLimit bounds what is read of an answer that is no success.
const refusalLimit = 64 << 10

// ErrTooLong is what a Failure of the kind BadAnswer holds whose answer is longer than Options.Limit.
var ErrTooLong = errors.New("the answer is over the limit")

// Answer is a whole answer of status 2xx.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Do makes a call and reads its answer, up to three times: again where the agent was not reached; where it has done
// nothing (Options.Later); and a question also where the answer broke off, or the agent or a gateway in front of it
// answered 429, 502, 503 or 504.
func (c *Client) Do(ctx context.Context, call *Call) (*Answer, error) {
	return attempts(ctx, c, call, c.Once)
}

// Open is Do for an answer whose body the caller reads and closes. Reading on ends with ctx.
func (c *Client) Open(ctx context.Context, call *Call) (*http.Response, error) {
	return attempts(ctx, c, call, c.OpenOnce)
}

// attempts makes a call until it succeeds, or must not or need not be made again.
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

// Once makes a call a single time.
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

// OpenOnce is Open with a single attempt.
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

// Broken returns the Failure of an opened answer of which err broke the reading.
func (c *Client) Broken(ctx context.Context, err error) error { return c.broken(ctx, ctx, err) }

// Read takes the rest of an opened answer.
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

// refused reads an answer that is no success, whose status counts even where its body breaks off. After a status of 500
// or more the connection is not used again: some servers drop it without a word.
func (c *Client) refused(ctx, limited context.Context, res *http.Response) error {
	raw, err := readAll(res.Body, refusalLimit, res.ContentLength)
	if err != nil && limited.Err() != nil {
		return c.broken(ctx, limited, err)
	}
	if err != nil { // what is read may end within a credential
		raw = c.secrets.WithoutHalf(raw)
	}
	if res.StatusCode >= http.StatusInternalServerError {
		c.CloseIdle()
	}
	return &Failure{Kind: Refused, Status: res.StatusCode, Header: res.Header, Body: raw}
}

// readAll reads up to limit bytes, and ErrTooLong if there are more; expect is how many are announced, below 0 for
// unknown, and not believed beyond a megabyte. An answer of the announced length has no room after it: what is logged
// of a run refers to its answers.
func readAll(r io.Reader, limit, expect int64) ([]byte, error) {
	if expect < 0 {
		expect = bytes.MinRead
	}
	r = io.LimitReader(r, limit+1)
	b := make([]byte, 0, min(expect, limit, 1<<20)+1) // the byte more finds the end
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
