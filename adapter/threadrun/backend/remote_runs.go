package backend

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/apbridge/apbridge/adapter/upstream"
)

// remoteRuns lists and cancels the runs of a server's threads.
type remoteRuns struct{ http *client }

// list returns the runs of an upstream thread. Runs of other clients do not have our mark.
func (r remoteRuns) list(ctx context.Context, thread string) ([]runWire, error) {
	list, err := pages(func(offset, limit int) (page []runWire, err error) {
		q := url.Values{"limit": {strconv.Itoa(limit)}}
		if offset > 0 {
			q.Set("offset", strconv.Itoa(offset))
		}
		return page, r.http.getJSON(ctx, threadPath(thread)+"/runs?"+q.Encode(), &page)
	}, func(run runWire) string { return run.ID })
	unmark(list)
	return list, err
}

// unmark removes our mark from runs of other clients that inherited it from the run that created the thread, which is
// the oldest run with the mark.
func unmark(list []runWire) {
	var maker *runWire
	for i, r := range list {
		if r.inherited() && (maker == nil || r.Created < maker.Created || r.Created == maker.Created && r.ID < maker.ID) {
			maker = &list[i]
		}
	}
	for i, r := range list {
		if r.inherited() && r.ID != maker.ID {
			list[i].Metadata = &runMark{}
		}
	}
}

// stopStale cancels upstream runs whose runs here have ended. A thread of ours has at most one active run.
func (r remoteRuns) stopStale(ctx context.Context, thread, except string) {
	list, err := r.list(ctx, thread)
	if err != nil {
		return
	}
	for _, run := range list {
		if run.active() && run.ours() != "" && run.ours() != except {
			_ = r.cancel(ctx, thread, run.ID)
		}
	}
}

func (r remoteRuns) cancel(ctx context.Context, thread, run string) error {
	return r.cancelAt(ctx, runPath(thread, run)+"/cancel?wait=0&action=interrupt")
}

func (r remoteRuns) cancelAt(ctx context.Context, path string) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout/2)
	defer cancel()
	err := r.http.writeJSON(ctx, http.MethodPost, path, nil, nil)
	switch upstream.Status(err) {
	case http.StatusNotFound, http.StatusConflict, http.StatusGone:
		return nil // it has ended or does not exist
	}
	return err
}

// newest returns the run that was created last. Servers differ in the order of lists.
func newest(list []runWire) *runWire {
	var best *runWire
	for i := range list {
		if best == nil || list[i].Created > best.Created {
			best = &list[i]
		}
	}
	return best
}
