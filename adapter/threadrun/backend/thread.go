package backend

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/apbridge/apbridge/adapter/upstream"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

// profileForked marks the link of a thread on which a run started from an older checkpoint. Version 1.4.6 of the
// JavaScript server stores that checkpoint in the thread's configuration and also starts every later run there, unless
// the run names another checkpoint.
const profileForked = "forked"

// thread prepares the upstream thread of a run.
type thread struct {
	*job
	names    *names
	replaced bool // this thread replaces one that was lost
}

// open ensures that the upstream thread has the state of our thread. It makes no call for a new thread that the run's
// request creates, and one read for a thread that was used before.
func (th *thread) open() error {
	found, err := th.findFork()
	switch {
	case err != nil:
		return err
	case found:
		th.link.Profile = profileForked
		return nil
	case th.link.Remote == "" || th.t.Graph.Values != nil:
		return th.fresh()
	}
	return th.catchUp()
}

// fresh creates a separate thread for this run and writes our state into it. Its id is derived from the run's id, so
// that repeating the request after a lost response does not create a second thread.
func (th *thread) fresh() error {
	if th.t.Resume {
		return mapping.Errorf(mapping.Upstream, mapping.CodeIncompatibleState,
			"The question of agent %q cannot be answered: the thread's state was changed after the question, so the agent's own thread no longer matches.", th.b.up.Name)
	}
	th.link = mapping.Link{Agent: th.t.Run.Agent, TaskID: th.link.TaskID, Remote: th.id()}
	if th.mayComeWithRun() {
		th.origin = threadComesWithRun
		return th.emitLink()
	}
	if err := th.make(); err != nil {
		return err
	}
	if err := th.emitLink(); err != nil {
		return err
	}
	return th.seed()
}

// make creates the thread of the link.
func (th *thread) make() error {
	body := threadCreate{ID: th.link.Remote, IfExists: "do_nothing", Metadata: th.metadata()}
	var made threadWire
	if err := th.create(body, &made); err != nil {
		return err
	}
	if made.ID == "" {
		return th.b.http.bad(http.MethodPost, "/threads", "thread_id is missing")
	}
	th.link.Remote = made.ID
	return nil
}

// makeFirst creates the thread separately, on a server that does not create it with the run.
func (th *thread) makeFirst() error {
	th.origin = threadCameFirst
	return th.make()
}

// mayComeWithRun reports whether the run's request can create the thread (if_not_exists "create"). It cannot if there
// is a state, which has to exist before the run. Servers copy the run's metadata to the thread and to every later run,
// so it must not contain anything specific to this run. For the same reason, the upstream runs of a lockstep run could
// not be distinguished from those of other clients.
func (th *thread) mayComeWithRun() bool {
	meta := th.t.Run.Metadata
	if th.t.OneStep || th.b.separate.Load() || rawjson.CountMembers(th.t.Graph.Values) > 0 || rawjson.CountMembers(meta) > len(bridgeKeys)+1 {
		return false
	}
	if th.t.State != nil && th.t.State.Size() > len("{}") {
		return false
	}
	for key, value := range object(meta) {
		if !slices.Contains(bridgeKeys, key) && (key != originKey || object(value) == nil) {
			return false
		}
	}
	return true
}

// create creates the thread. It may be repeated, because the bridge chooses the id.
func (th *thread) create(body threadCreate, made *threadWire) error {
	err := th.b.http.writeJSON(th.ctx, http.MethodPost, "/threads", body, made)
	if upstream.MayHaveActed(err) && th.ctx.Err() == nil {
		return th.b.http.writeJSON(th.ctx, http.MethodPost, "/threads", body, made)
	}
	return err
}

// id returns the id of a new thread. It depends only on the run, the attempt and the replaced thread.
func (th *thread) id() string {
	name := "thread/" + strconv.Itoa(th.t.Run.Attempt)
	if th.link.Remote != "" {
		name += "/" + th.link.Remote
	}
	return mapping.MessageID(th.t.Run.ID, name)
}

// metadata returns the metadata of a new upstream thread.
func (th *thread) metadata() json.RawMessage {
	meta := map[string]json.RawMessage{threadKey: quoted(th.t.Thread.ID)}
	if th.target.graph != "" {
		meta["graph_id"], _ = json.Marshal(th.target.graph)
	}
	return textOf(meta)
}

// head reads the newest state of an upstream thread.
func (b *backend) head(ctx context.Context, thread string) (st stateWire, err error) {
	path := threadPath(thread) + "/state"
	err = b.http.getJSON(ctx, path, &st)
	if err == nil && object(st.Values) == nil {
		err = b.http.bad(http.MethodGet, path, "field values is not an object")
	}
	st.Tasks = b.http.hideErrors(st.Tasks)
	return st, err
}

func nonNil(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

func threadPath(id string) string { return "/threads/" + url.PathEscape(id) }

func runPath(thread, run string) string {
	return threadPath(thread) + "/runs/" + url.PathEscape(run)
}
