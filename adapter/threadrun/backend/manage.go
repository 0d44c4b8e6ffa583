package backend

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/upstream"
	"github.com/apbridge/apbridge/mapping"
)

// Cancel stops the upstream run of one of our runs on the link's upstream thread, even if the upstream id is unknown.
// It returns nil if there is nothing to stop.
func (b *backend) Cancel(ctx context.Context, link mapping.Link, runID string) error {
	if link.Remote == "" {
		return nil
	}
	if link.Profile == profilePlain {
		return b.cancelPlain(ctx, link)
	}
	list, err := b.runs.list(ctx, link.Remote)
	switch {
	case err != nil && link.RemoteRun != "": // the server does not list runs, so only the link is known
		return b.runs.cancel(ctx, link.Remote, link.RemoteRun)
	case upstream.Status(err) == http.StatusNotFound:
		return nil
	}
	for _, r := range list {
		mine := r.ours() == runID || r.Metadata == nil && r.ID == link.RemoteRun
		if r.active() && mine {
			err = errors.Join(err, b.runs.cancel(ctx, link.Remote, r.ID))
		}
	}
	return err
}

// Forget deletes the upstream thread. It returns nil if the thread does not exist. Code not_supported means that the
// server cannot delete threads.
func (b *backend) Forget(ctx context.Context, link mapping.Link) error {
	if link.Remote == "" {
		return nil
	}
	err := b.http.writeJSON(ctx, http.MethodDelete, threadPath(link.Remote), nil, nil)
	switch upstream.Status(err) {
	case http.StatusNotFound:
		return nil
	case http.StatusMethodNotAllowed, http.StatusNotImplemented:
		return &mapping.Error{Class: mapping.Upstream, Code: mapping.CodeNotSupported, Message: "Agent \"" + b.up.Name + "\" does not delete threads.", Err: err}
	}
	return err
}

// UpdateState sends values through the agent's own reducers, as an update of the node asNode, and reads the state back.
// If asNode is "", the server chooses the node. If the server cannot choose, the update is sent in the name of the node
// that leads to the end. That is not done at an earlier checkpoint, because its next nodes would be lost.
func (b *backend) UpdateState(ctx context.Context, c adapter.Copy, at *adapter.Fork, values json.RawMessage, asNode string) (adapter.State, error) {
	link := c.Link
	if link.Remote == "" {
		return adapter.State{}, mapping.Errorf(mapping.Upstream, mapping.CodeIncompatibleState, "Agent %q has no copy of this thread yet.", b.up.Name)
	}
	if at != nil {
		if err := b.readable(c); err != nil {
			return adapter.State{}, err
		}
	}
	if link.Profile == profilePlain {
		return b.patchPlain(ctx, link, values)
	}
	path, body := threadPath(link.Remote)+"/state", stateUpdate{Values: orNull(values), AsNode: asNode}
	if at != nil {
		id, err := b.checkpointAt(ctx, c, *at)
		if err != nil {
			return adapter.State{}, b.copyError(err)
		}
		body.Checkpoint = &pointWire{ID: id}
	}
	err := b.http.writeJSON(ctx, http.MethodPost, path, body, nil)
	if asNode == "" && wantsNode(err) {
		if at != nil {
			return adapter.State{}, &mapping.Error{Class: mapping.Upstream, Code: mapping.CodeNotSupported, Err: err, Message: mapping.Classify(err).Message}
		}
		err = b.updateAsEntry(ctx, path, values)
	}
	if err != nil {
		return adapter.State{}, b.updateError(err)
	}
	st, err := b.head(ctx, link.Remote)
	if err != nil { // the update was applied nevertheless: see adapter.StateWriter
		return adapter.State{}, &mapping.Error{Class: mapping.Upstream, Code: mapping.CodeUpstreamLost, Err: err,
			Message: "Agent \"" + b.up.Name + "\" accepted the state update, but its state could not be read."}
	}
	return b.copyOf(ctx, c).read(st), nil
}

// wantsNode reports whether the server may have refused an update because it names no node, with status 400, 422 or
// 500. A 502 or 504 from a proxy is inconclusive, because the update may have been applied.
func wantsNode(err error) bool {
	switch upstream.Status(err) {
	case http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusInternalServerError:
		return true
	}
	return false
}

func (b *backend) updateAsEntry(ctx context.Context, path string, values json.RawMessage) error {
	t, err := b.graphs.target(ctx)
	if err != nil {
		return err
	}
	return b.http.writeJSON(ctx, http.MethodPost, path, stateUpdate{Values: values, AsNode: b.graphs.entry(ctx, t)}, nil)
}

// updateError reclassifies refusals that a caller can act on.
func (b *backend) updateError(err error) error {
	var e *mapping.Error
	if !errors.As(err, &e) {
		return err
	}
	switch upstream.Status(err) {
	case http.StatusNotFound:
		return &mapping.Error{Class: e.Class, Code: mapping.CodeUpstreamLost, Message: e.Message, Err: err}
	case http.StatusMethodNotAllowed, http.StatusNotImplemented:
		return &mapping.Error{Class: e.Class, Code: mapping.CodeNotSupported, Message: e.Message, Err: err}
	case http.StatusConflict:
		return &mapping.Error{Class: mapping.Conflict, Code: mapping.CodeThreadBusy, Message: e.Message, Err: err}
	}
	return err
}
