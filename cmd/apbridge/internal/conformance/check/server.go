package check

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// Limits of what is read of one answer and of one stream, in bytes, and of a stream in events.
const (
	maxBody   = 8 << 20
	maxEvents = 10_000
)

// removal is how long taking one thing away may last.
const removal = 10 * time.Second

// Server is the server that checks are made against. Not for concurrent use.
type Server struct {
	Base    string        // URL without a slash at its end
	Header  http.Header   // sent with every request; never told in a result
	Agent   string        // that runs are made with; "" for the first that the server lists
	Timeout time.Duration // of one check

	client  *http.Client
	denied  bool
	remains []remains
}

// Denied reports whether the server has refused any request for want of rights.
func (s *Server) Denied() bool { return s.denied }

// Reach makes sure that a server answers, whatever it answers.
func (s *Server) Reach(ctx context.Context, patience time.Duration) error {
	before := s.Timeout
	s.Timeout = min(patience, before)
	defer func() { s.Timeout = before }()
	t := s.Talk(ctx)
	defer t.end()
	res := t.open(Request{Method: http.MethodGet, Path: "/"})
	if res == nil {
		return errors.New(t.verdict.reason)
	}
	return res.Body.Close()
}

// remains is something that a check made and that is to be removed.
type remains struct {
	what   string
	remove Request
}

// Talk returns a Talk for the requests of one check.
func (s *Server) Talk(ctx context.Context) *Talk {
	if s.client == nil {
		s.client = &http.Client{
			Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, ResponseHeaderTimeout: 0, DisableCompression: true},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
	}
	ctx, stop := context.WithTimeoutCause(ctx, s.Timeout, errLate)
	return &Talk{server: s, ctx: ctx, end: stop}
}

// errLate is why the context of a check ended.
var errLate = errors.New("time limit")

// Clean removes what the checks made, the newest first, also after ctx has ended. It returns what could not be removed.
func (s *Server) Clean(ctx context.Context) (left []string) {
	ctx = context.WithoutCancel(ctx)
	for i := len(s.remains) - 1; i >= 0; i-- {
		if err := s.remove(ctx, s.remains[i].remove); err != nil {
			left = append(left, fmt.Sprintf("%s: %v", s.remains[i].what, err))
		}
	}
	s.remains = nil
	if s.client != nil {
		s.client.CloseIdleConnections()
	}
	return left
}

func (s *Server) remove(ctx context.Context, r Request) error {
	ctx, stop := context.WithTimeout(ctx, removal)
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
		return fmt.Errorf("%s %s answered %d", r.Method, r.Path, res.StatusCode)
	}
	return nil
}
