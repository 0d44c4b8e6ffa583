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

// profileForked marks the link of a thread on which a run was started from an older checkpoint. Version 1.4.6 of the
// JavaScript server keeps that checkpoint in the thread's configuration and starts every later run there too, unless
// the run says otherwise.
const profileForked = "forked"

// thread sees to the upstream thread that a run works on.
type thread struct {
	*job
	names    *names
	replaced bool // a fresh thread stands in for one that was lost
}

// open makes sure of an upstream thread that holds what our thread holds. It costs nothing for a new thread, which the
// run's own request makes, and one read for a thread that was used before.
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

// fresh makes a thread of its own for this run and puts our state into it. Its id is made from the run's, so that
// making it twice, after an answer that was lost, makes one thread.
func (th *thread) fresh() error {
	if th.t.Resume {
		return mapping.Errorf(mapping.Upstream, mapping.CodeIncompatibleState,
			"The question of agent %q cannot be answered: the thread's state was changed after it was asked, so the agent's own thread no longer fits.", th.b.up.Name)
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

// make makes the thread of the link.
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

// makeFirst makes the thread by itself, on a server that does not do so on the way.
func (th *thread) makeFirst() error {
	th.origin = threadCameFirst
	return th.make()
}

// mayComeWithRun reports whether the run's own request can make the thread (if_not_exists "create"). Servers then give
// the run's metadata to the thread, and the thread's to every later run, so that it must say nothing that only this run
// means; a state has to be there before the run; and the runs of one lockstep run could not be told from those of
// others.
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

// create may be sent again where the thread may have been made: the id is ours.
func (th *thread) create(body threadCreate, made *threadWire) error {
	err := th.b.http.writeJSON(th.ctx, http.MethodPost, "/threads", body, made)
	if upstream.MayHaveActed(err) && th.ctx.Err() == nil {
		return th.b.http.writeJSON(th.ctx, http.MethodPost, "/threads", body, made)
	}
	return err
}

// id names a fresh thread: one name for the same run, the same attempt, and the same thread that it stands in for.
func (th *thread) id() string {
	name := "thread/" + strconv.Itoa(th.t.Run.Attempt)
	if th.link.Remote != "" {
		name += "/" + th.link.Remote
	}
	return mapping.MessageID(th.t.Run.ID, name)
}

// metadata is what a thread that is made for this one is marked with.
func (th *thread) metadata() json.RawMessage {
	meta := map[string]json.RawMessage{threadKey: quoted(th.t.Thread.ID)}
	if th.target.graph != "" {
		meta["graph_id"], _ = json.Marshal(th.target.graph)
	}
	return textOf(meta)
}

// head reads the state of an upstream thread.
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
