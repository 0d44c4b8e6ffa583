package check

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"
)

const (
	maxBody        = 8 << 20 // bytes of one response or stream
	maxEvents      = 10_000  // of one stream
	cleanupTimeout = 10 * time.Second
)

// Server is the checked server. Not for concurrent use.
type Server struct {
	Base    string        // URL without a trailing slash
	Header  http.Header   // of every request; never part of a result
	Agent   string        // the agent of runs; "" means the first one that the server lists
	Timeout time.Duration // of one check

	client  *http.Client
	denied  bool
	created []created
}

// Denied reports whether the server has answered a request with 401 or 403.
func (s *Server) Denied() bool { return s.denied }

// Reach fails if the server does not answer at all.
func (s *Server) Reach(ctx context.Context, timeout time.Duration) error {
	before := s.Timeout
	s.Timeout = min(timeout, before)
	defer func() { s.Timeout = before }()
	t := s.Talk(ctx)
	defer t.end()
	res := t.open(Request{Method: http.MethodGet, Path: "/"})
	if res == nil {
		return errors.New(t.verdict.reason)
	}
	return res.Body.Close()
}

// created is an object that a check has created, with the request that deletes it.
type created struct {
	what   string
	remove Request
}

// Talk returns a Talk for one check.
func (s *Server) Talk(ctx context.Context) *Talk {
	if s.client == nil {
		s.client = &http.Client{
			Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, DisableCompression: true},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
	}
	ctx, stop := context.WithTimeoutCause(ctx, s.Timeout, errLate)
	return &Talk{server: s, ctx: ctx, end: stop}
}

// errLate is the cause of a context that ended at the time limit.
var errLate = errors.New("time limit")

// Clean deletes the objects that the checks have created, newest first, even if ctx has ended. It returns a description
// of each object that is left.
func (s *Server) Clean(ctx context.Context) (left []string) {
	ctx = context.WithoutCancel(ctx)
	for _, c := range slices.Backward(s.created) {
		if err := s.remove(ctx, c.remove); err != nil {
			left = append(left, fmt.Sprintf("%s: %v", c.what, err))
		}
	}
	s.created = nil
	if s.client != nil {
		s.client.CloseIdleConnections()
	}
	return left
}

func (s *Server) remove(ctx context.Context, r Request) error {
	ctx, stop := context.WithTimeout(ctx, cleanupTimeout)
	defer stop()
	req, err := r.build(ctx, s)
	if err != nil {
		return err
	}
	res, err := s.client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, maxBody)) // only the status counts
	if res.StatusCode/100 != 2 && res.StatusCode != http.StatusNotFound {
		return fmt.Errorf("%s %s returned %d", r.Method, r.Path, res.StatusCode)
	}
	return nil
}
