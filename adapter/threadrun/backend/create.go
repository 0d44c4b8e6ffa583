package backend

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/upstream"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/pause"
)

// creation sends the request that creates an upstream run.
type creation struct {
	*job
	lookup *runLookup
	stream *stream
}

// wantsPoint reports whether the server may have refused the request because it is empty. Aegra requires input, a
// command or a checkpoint; LangGraph does not. The checkpoint is not sent to every server, because version 1.4.6 of the
// JavaScript server would start all later runs of the thread there, and LangGraph repeats the finished tasks of a
// superstep.
func wantsPoint(body runCreate, err error) bool {
	return upstream.Status(err) == http.StatusUnprocessableEntity && !busy(err) && body.saysNothing()
}

// lacksMode reports whether the server may have refused the request because it does not know the newest stream mode.
// The refusal names the mode. The streaming protocol requests the mode in every run and works without it.
func lacksMode(body runCreate, err error) bool {
	status := upstream.Status(err)
	return (status == http.StatusUnprocessableEntity || status == http.StatusBadRequest) &&
		slices.Contains(body.StreamMode, newestMode) && bytes.Contains(upstream.Of(err).Body, []byte(newestMode))
}

// sendAtHead sends the request with the thread's newest checkpoint. refused is the error of the request without it.
func (c *creation) sendAtHead(body runCreate, refused error) (*http.Response, error) {
	st, err := c.state()
	if err != nil || st.head() == "" {
		return nil, refused
	}
	body.at(st.head())
	return c.send(body)
}

// errNotMade means that the request should have created the thread but did not.
var errNotMade = errors.New("the server did not create the thread")

// runOf reads the run's id from Content-Location: /threads/{t}/runs/{r}.
func runOf(h http.Header) string {
	_, run, _ := strings.Cut(h.Get("Content-Location"), "/runs/")
	if end := strings.IndexAny(run, "/?#"); end >= 0 {
		run = run[:end]
	}
	return run
}

// send sends the POST that creates the upstream run. It is repeated only if the server has certainly not accepted it,
// because there was no connection or the server refused it. The response is nil if it was lost but the run was found.
// The stream of that run must then be read from the start.
func (c *creation) send(body runCreate) (*http.Response, error) {
	path := threadPath(c.link.Remote) + "/runs/stream"
	for try := 0; ; try++ {
		begun := time.Now()
		resp, err := c.stream.open(http.MethodPost, path, body, "")
		switch {
		case err == nil:
			c.b.created.Observe(time.Since(begun))
			return resp, nil
		case c.ctx.Err() != nil:
			return nil, err
		}
		found, again := c.afterRefusal(err)
		switch {
		case again != nil:
			return nil, again
		case found:
			return nil, nil
		case try == len(c.b.pause.busy), !busy(err) && try+1 == upstream.Tries:
			return nil, c.gaveUp(err)
		}
		wait := adapter.Jitter(c.b.pause.busy[try])
		if upstream.Untouched(err) && upstream.Status(err) != 0 {
			wait = upstream.Wait(err, try+1)
		}
		if pause.For(c.ctx, wait) != nil {
			return nil, err
		}
	}
}

// afterRefusal interprets a failed POST. An error is final. If found is true, the run exists. Otherwise the POST may be
// repeated.
func (c *creation) afterRefusal(err error) (found bool, final error) {
	switch {
	case upstream.Untouched(err):
		return false, nil
	case busy(err), upstream.Status(err) == http.StatusNotFound:
		return false, c.whyRefused(err)
	case upstream.MayHaveActed(err):
		return true, c.lookup.resolve(err)
	}
	return false, err
}

// busy reports whether the request was refused because the thread has an active run. The API documents 409 for that;
// the JavaScript server sends 422 with a message.
func busy(err error) bool {
	status := upstream.Status(err)
	return status == http.StatusConflict ||
		status == http.StatusUnprocessableEntity && bytes.Contains(upstream.Of(err).Body, []byte("already running"))
}

// whyRefused determines the meaning of a 404 or a busy thread. Servers may send either for a thread that they do not
// have.
func (c *creation) whyRefused(err error) error {
	var th threadWire
	asked := c.b.http.getJSON(c.ctx, threadPath(c.link.Remote), &th)
	switch missing := upstream.Status(asked) == http.StatusNotFound; {
	// Some servers respond with 200 and no body for a thread that they do not have.
	case c.origin == threadComesWithRun && (missing || th.ID == "" && (asked == nil || errors.Is(asked, errBadAnswer))):
		return errNotMade
	case missing:
		return c.lost("thread")
	}
	if !busy(err) {
		c.b.graphs.forget()
		return err
	}
	c.b.runs.stopStale(c.ctx, c.link.Remote, c.t.Run.ID)
	return nil
}

func (c *creation) gaveUp(err error) error {
	if !busy(err) {
		return err
	}
	return &mapping.Error{Class: mapping.Upstream, Code: mapping.CodeThreadBusy, Err: err,
		Message: fmt.Sprintf("Agent %q is busy on its own copy of this thread with a run that was not started here. Try again when it has ended.", c.b.up.Name)}
}
