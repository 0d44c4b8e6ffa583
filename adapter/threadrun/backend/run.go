package backend

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/sse"
	"github.com/apbridge/apbridge/adapter/upstream"
	"github.com/apbridge/apbridge/mapping"
)

// begin starts the run upstream.
func (s *session) begin() error {
	if s.further {
		return s.start(true)
	}
	if err := s.openThread(); err != nil {
		return err
	}
	return s.start(false)
}

// start sends the run's request, or the one for its next step, and follows
// what comes of it.
func (s *session) start(next bool) error {
	body, done, err := s.open(next)
	if done || err != nil {
		return err
	}
	return s.follow(body)
}

// open has the upstream run made, and returns its stream, nil if it has none. done:
// there is nothing to follow.
func (s *session) open(next bool) (stream io.ReadCloser, done bool, err error) {
	if next && s.inDoubt() {
		_, err := s.lookup(nil)
		return nil, false, err
	}
	body := s.request(next)
	resp, err := s.create(body)
	if wantsPoint(body, err) {
		resp, err = s.createAtHead(body, err)
	}
	switch {
	case errors.Is(err, errNotMade):
		return nil, true, s.makeFirst()
	case lostUpstream(err) && !next && s.heal():
		return nil, true, s.restart()
	case err != nil || resp == nil:
		return nil, false, err
	}
	if err := s.began(runOf(resp.Header)); err != nil {
		resp.Body.Close()
		return nil, false, err
	}
	return resp.Body, false, nil
}

// wantsPoint reports whether the server may have refused the request because it says nothing.
// Aegra wants input, a command or a checkpoint; LangGraph goes on without. The checkpoint
// is not named to every server: version 1.4.6 of the JavaScript one would begin all later runs
// of the thread there, and LangGraph does the finished tasks of a superstep again.
func wantsPoint(body runCreate, err error) bool {
	return upstream.Status(err) == http.StatusUnprocessableEntity && !busy(err) && body.saysNothing()
}

// createAtHead is create that names the thread's newest checkpoint as the place to go on
// from. refused is why the request without it was not taken.
func (s *session) createAtHead(body runCreate, refused error) (*http.Response, error) {
	st, err := s.state()
	if err != nil || st.head() == "" {
		return nil, refused
	}
	body.at(st.head())
	return s.create(body)
}

// errNotMade: the request should have made the thread, and did not.
var errNotMade = errors.New("the server has not made the thread")

// makeFirst makes the thread by itself, on a server that does not do so on the
// way, and begins again.
func (s *session) makeFirst() error {
	s.creates, s.unfused = false, true
	if err := s.makeThread(); err != nil {
		return err
	}
	return s.start(false)
}

// restart begins again on a fresh thread.
func (s *session) restart() error {
	if err := s.freshThread(); err != nil {
		return err
	}
	return s.start(false)
}

// began notes the upstream run's id, from whichever of header, metadata frame
// and list tells it first. Until the run has ended both sides agree on nothing.
func (s *session) began(run string) error {
	if run == "" || run == s.link.RemoteRun {
		return nil
	}
	s.link.RemoteRun, s.link.RemoteCheckpoint, s.link.RemoteMark, s.creates = run, "", "", false
	if s.unfused {
		s.b.separate.Store(true)
	}
	return s.emitLink()
}

// runOf reads the run's id from Content-Location: /threads/{t}/runs/{r}.
func runOf(h http.Header) string {
	_, run, _ := strings.Cut(h.Get("Content-Location"), "/runs/")
	if end := strings.IndexAny(run, "/?#"); end >= 0 {
		run = run[:end]
	}
	return run
}

// create sends the POST that makes the upstream run. It is sent once; again
// only when the server has certainly not taken it: it could not be reached, or it
// refused. A nil response says that an answer was lost and the run was found: it is
// followed from its start.
func (s *session) create(body runCreate) (*http.Response, error) {
	path := threadPath(s.link.Remote) + "/runs/stream"
	for try := 0; ; try++ {
		begun := time.Now()
		resp, err := s.openStream(http.MethodPost, path, body, "")
		switch {
		case err == nil:
			s.b.created.Took(time.Since(begun))
			return resp, nil
		case s.ctx.Err() != nil:
			return nil, err
		}
		found, again := s.afterRefusal(err)
		switch {
		case again != nil:
			return nil, again
		case found:
			return nil, nil
		case try == len(s.b.pause.busy), !busy(err) && try+1 == upstream.Tries:
			return nil, s.gaveUp(err)
		}
		wait := adapter.Spread(s.b.pause.busy[try])
		if upstream.Untouched(err) && upstream.Status(err) != 0 {
			wait = upstream.Wait(err, try+1)
		}
		if upstream.Sleep(s.ctx, wait) != nil {
			return nil, err
		}
	}
}

// afterRefusal decides what a failed POST means. found: the run exists. An
// error: give up with it. Neither: the POST may be sent again.
func (s *session) afterRefusal(err error) (found bool, final error) {
	switch {
	case upstream.Untouched(err):
		return false, nil
	case busy(err), upstream.Status(err) == http.StatusNotFound:
		return false, s.whyRefused(err)
	case lostAnswer(err):
		return s.lookup(err)
	}
	return false, err
}

// busy tells the refusal of a thread with an active run: 409 as documented,
// 422 with a text from the JavaScript server.
func busy(err error) bool {
	status := upstream.Status(err)
	return status == http.StatusConflict ||
		status == http.StatusUnprocessableEntity && bytes.Contains(upstream.Of(err).Body, []byte("already running"))
}

// whyRefused finds out what a 404, or a busy thread, means: servers answer
// both for a thread they do not have.
func (s *session) whyRefused(err error) error {
	var th threadWire
	if asked := s.b.http.getJSON(s.ctx, threadPath(s.link.Remote), &th); upstream.Status(asked) == http.StatusNotFound {
		if s.creates {
			return errNotMade
		}
		return s.lost("thread")
	}
	if !busy(err) {
		s.b.graph.set(nil)
		return err
	}
	s.b.stopStale(s.ctx, s.link.Remote, s.t.Run.ID)
	return nil
}

func (s *session) gaveUp(err error) error {
	if !busy(err) {
		return err
	}
	return &mapping.Error{Class: mapping.Upstream, Code: mapping.CodeThreadBusy, Err: err,
		Message: fmt.Sprintf("Agent %q is busy on its own copy of this thread with a run that was not started here. Try again when it has ended.", s.b.up.Name)}
}

// follow reads the upstream run to its end. A stream that breaks off is gone
// back to, from the last frame that came; body is the stream that is open, or
// nil to go back at once. It gives up after so many failures in a row, but not
// on a stream that keeps closing while the server says that the run goes on:
// that is for step_timeout.
func (s *session) follow(body io.ReadCloser) error {
	for failures, silences := 0, 0; ; {
		s.rejoined = s.rejoined || body == nil
		before := s.lastID
		err := s.readOnce(body)
		body = nil
		switch {
		case errors.Is(err, errEnded):
			return nil
		case errors.Is(err, errGoOn):
			return s.start(true)
		case err != nil && (s.ctx.Err() != nil || !mayPass(err)):
			return err
		}
		if s.lastID != before {
			failures, silences = 0, 0
		}
		pauses := s.b.pause.rejoin
		wait := pauses[min(silences, len(pauses)-1)]
		if silences++; err != nil {
			if failures == len(pauses) {
				return s.unknown(err)
			}
			wait = pauses[failures]
			failures++
		}
		if upstream.Sleep(s.ctx, wait) != nil {
			return orSilent(err)
		}
	}
}

// errEnded and errGoOn are how readOnce tells the end from a stream that only
// closed.
var (
	errEnded = errors.New("the run has ended")
	errGoOn  = errors.New("the step had no output and the run goes on")
)

// mayPass tells whether an error may be over in a moment.
func mayPass(err error) bool { return upstream.MayPass(err) || upstream.Status(err) >= 500 }

func orSilent(err error) error {
	if err != nil {
		return err
	}
	return errors.New("its stream closes while the run goes on")
}

// readOnce reads one stream, open or reopened, and when it closed properly
// asks how the run stands. nil: it still goes on, or the stream was not over
// yet when it closed.
func (s *session) readOnce(body io.ReadCloser) error {
	if body == nil {
		resp, err := s.rejoin()
		if err != nil {
			return err
		}
		body = resp.Body
	}
	defer body.Close()
	s.frames = 0
	if err := s.read(body); err != nil {
		return err
	}
	if !s.told && s.frames > 0 && s.lastID != "" {
		return nil // the server may have more of it
	}
	if s.done() {
		return s.endTold()
	}
	return s.finish()
}

// rejoin opens the stream of the run that is under way, after the last frame
// that was read.
func (s *session) rejoin() (*http.Response, error) {
	if s.link.RemoteRun == "" {
		return nil, s.unknown(orSilent(nil))
	}
	path := runPath(s.link.Remote, s.link.RemoteRun) + "/stream"
	resp, err := s.openStream(http.MethodGet, path, nil, orElse(s.lastID, "-1"))
	if upstream.Status(err) == http.StatusNotFound {
		return nil, s.lost("run")
	}
	return resp, err
}

// read takes frames until the stream closes, or its run has ended.
func (s *session) read(body io.Reader) error {
	r := sse.NewReader(body, int(s.b.up.Limits.Event))
	w := s.watch()
	defer w.close()
	for {
		f, err := r.Next()
		switch {
		case errors.Is(err, io.EOF), err != nil && w.ended():
			return nil
		case err != nil:
			return s.unreadable(err)
		}
		s.alive()
		if err := s.frame(f); err != nil {
			return err
		}
		w.noted(s)
	}
}

// unreadable is why a stream could not be read on.
func (s *session) unreadable(err error) error {
	if errors.Is(err, sse.ErrTooLong) {
		return mapping.Errorf(mapping.TooLarge, mapping.CodeBadUpstream,
			"Agent %q sent an event longer than limits.event (%d bytes).", s.b.up.Name, int(s.b.up.Limits.Event))
	}
	return s.b.http.failed(upstream.Call{Method: http.MethodGet, Path: "its event stream"}, s.b.http.to.Broken(s.ctx, err))
}
