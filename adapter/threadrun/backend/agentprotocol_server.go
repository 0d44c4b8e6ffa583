package backend

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/upstream"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/pause"
)

// agentProtocolClient implements the phases of a run on a server that has only the routes of the Agent Protocol 0.1.6:
// agents, threads, and runs that are not below a thread. Such a server reports no checkpoints, accepts no answer to a
// question, and need not repeat a stream. So a broken stream is not resumed; the bridge waits for the run instead.
type agentProtocolClient struct {
	*job
	requests requests
	thread   *thread
	lookup   *runLookup
	frames   *translator
	stream   *stream
	broke    error // the error of the run's request; nil if a process that died may have sent it
}

// profilePlain marks the link of a thread on such a server.
const profilePlain = "agentprotocol"

// step executes a phase, as runDriver.step does for a LangGraph server.
func (p *agentProtocolClient) step(at phase) (phase, error) {
	switch at {
	case pickingUp:
		return p.pickUp()
	case preparing:
		return starting, p.makeThread()
	case starting:
		return p.start()
	case reading:
		return waiting, p.read()
	case searching:
		return waiting, p.findLostRun()
	}
	return ended, p.wait()
}

func (p *agentProtocolClient) pickUp() (phase, error) {
	o := &p.t.Run.Options
	if p.t.Resume || set(o.Update) != nil || set(o.Goto) != nil || len(o.InterruptBefore)+len(o.InterruptAfter) > 0 {
		return ended, mapping.Errorf(mapping.Upstream, mapping.CodeNotSupported,
			"Agent %q is a plain Agent Protocol server: it cannot accept an answer or a command, or stop at a node.", p.b.up.Name)
	}
	p.frames.replay()
	switch {
	case p.logged(p.link.RemoteRun):
		return waiting, nil
	case p.t.InDoubt:
		return searching, nil
	}
	return preparing, nil
}

// makeThread creates the thread. The state is sent with PATCH, or else with the input.
func (p *agentProtocolClient) makeThread() error {
	if p.link.Remote != "" && p.t.Graph.Values == nil {
		return nil
	}
	var made threadWire
	if err := p.thread.create(threadCreate{ID: p.thread.id(), IfExists: "do_nothing", Metadata: p.thread.metadata()}, &made); err != nil {
		return err
	}
	if made.ID == "" {
		return p.b.http.bad(http.MethodPost, "/threads", "thread_id is missing")
	}
	p.link = mapping.Link{Remote: made.ID, Profile: profilePlain}
	if err := p.emitLink(); err != nil || len(object(p.t.Graph.Values)) == 0 {
		return err
	}
	_, err := p.b.patchPlain(p.ctx, p.link, p.t.Graph.Values)
	if upstream.Status(err) == 0 || upstream.MayHaveActed(err) {
		return err
	}
	return p.thread.seedByInput(err)
}

func (b *backend) patchPlain(ctx context.Context, link mapping.Link, values json.RawMessage) (adapter.State, error) {
	var th struct {
		Values json.RawMessage `json:"values"`
	}
	body := map[string]json.RawMessage{"values": values}
	err := b.http.writeJSON(ctx, http.MethodPatch, threadPath(link.Remote), body, &th)
	if err != nil {
		return adapter.State{}, b.updateError(err)
	}
	if object(th.Values) == nil {
		return adapter.State{}, b.http.bad(http.MethodPatch, threadPath(link.Remote), "field values is not an object")
	}
	return adapter.State{Values: th.Values, Checkpoint: link.RemoteCheckpoint, Next: []string{}}, nil
}

// start sends the request for the run once. It uses /runs/wait if the server has no /runs/stream.
func (p *agentProtocolClient) start() (phase, error) {
	body := p.request()
	begun := time.Now()
	resp, err := p.stream.open(http.MethodPost, "/runs/stream", body, "")
	switch code := upstream.Status(err); {
	case code == http.StatusNotFound || code == http.StatusMethodNotAllowed:
		return p.startAndWait(body)
	case upstream.MayHaveActed(err) && p.ctx.Err() == nil:
		p.broke = err
		return searching, nil
	case err != nil:
		return ended, err
	}
	p.b.created.Observe(time.Since(begun))
	p.stream.hear(resp)
	return reading, p.began(runOf(resp.Header))
}

// read reads the stream. If the stream is incomplete, it returns nil and the run is waited for.
func (p *agentProtocolClient) read() error {
	err := p.stream.read()
	if e := (*runError)(nil); errors.As(err, &e) {
		return p.agentError(e.said)
	}
	if err != nil && (p.ctx.Err() != nil || !mayPass(err)) {
		return err
	}
	return nil
}

func (p *agentProtocolClient) request() plainCreate {
	return plainCreate{
		Agent: p.target.id, Thread: p.link.Remote, Input: set(p.t.Input.Raw), Config: p.requests.config(false), Metadata: p.requests.metadata(),
		StreamMode:   []string{"values", "messages", "updates", "custom"},
		OnCompletion: "keep", OnDisconnect: "continue", IfNotExists: "create",
	}
}

// startAndWait starts the run with POST /runs/wait.
func (p *agentProtocolClient) startAndWait(body plainCreate) (phase, error) {
	body.StreamMode = nil
	var res plainResult
	begun := time.Now()
	call := &upstream.Call{Method: http.MethodPost, Path: "/runs/wait", Operation: upstream.OpRun}
	err := p.b.http.waitJSON(p.ctx, call, body, &res)
	switch {
	case upstream.MayHaveActed(err) && p.ctx.Err() == nil:
		p.broke = err
		return searching, nil
	case err != nil:
		return ended, err
	}
	p.b.created.Observe(time.Since(begun))
	return ended, p.emitResult(res)
}

// findLostRun searches for the run of a POST that got no response, or that a process may have sent before it died.
func (p *agentProtocolClient) findLostRun() error {
	found, err := p.lookup.until(p.find)
	if err != nil || !found {
		return p.lookup.unresolved(p.broke, err)
	}
	return nil
}

func (p *agentProtocolClient) find(ctx context.Context) (bool, error) {
	var list []runWire
	body := map[string]any{"metadata": map[string]string{runKey: p.t.Run.ID}, "limit": 10}
	if err := p.b.http.askJSON(ctx, "/runs/search", body, &list); err != nil {
		return false, err
	}
	for _, r := range list {
		if r.ID != "" && r.ours() == p.t.Run.ID {
			p.link.Remote, p.link.Profile = cmp.Or(r.Thread, p.link.Remote), profilePlain
			return true, p.began(r.ID)
		}
	}
	return false, nil
}

// wait requests the run's result repeatedly, because a proxy may cut off a long response.
func (p *agentProtocolClient) wait() error {
	if p.link.RemoteRun == "" {
		if found, err := p.lookup.until(p.find); err != nil || !found {
			return p.unknown(errors.Join(orSilent(nil), err))
		}
	}
	path := "/runs/" + url.PathEscape(p.link.RemoteRun) + "/wait"
	for try := 0; ; try++ {
		res, err := p.result(path)
		switch {
		case upstream.Status(err) == http.StatusNotFound:
			return p.lost("run")
		case err == nil && !res.Run.active():
			return p.emitResult(res)
		case err != nil && (p.ctx.Err() != nil || !mayPass(err)):
			return err
		case err != nil && try >= len(p.b.pause.rejoin):
			return p.unknown(err)
		}
		if pause.For(p.ctx, p.b.pause.rejoin[min(try, len(p.b.pause.rejoin)-1)]) != nil {
			return orSilent(err)
		}
	}
}

// result has no timeout except the run's context.
func (p *agentProtocolClient) result(path string) (res plainResult, err error) {
	call := &upstream.Call{Method: http.MethodGet, Path: path, Operation: upstream.OpFollow}
	return res, p.b.http.waitJSON(p.ctx, call, nil, &res)
}

// emitResult yields the result. Such a server reports no checkpoint id, so the run's id marks the state on which both
// sides agree.
func (p *agentProtocolClient) emitResult(res plainResult) error {
	if err := p.began(res.Run.ID); err != nil {
		return err
	}
	if object(res.Values) != nil {
		ev := mapping.Event{Kind: mapping.KindState, Head: mapping.Head{Name: "values", Full: true}, Data: res.Values}
		if err := p.emit(ev); err != nil {
			return err
		}
	}
	p.link.RemoteCheckpoint = res.Run.ID
	if err := p.emitLink(); err != nil {
		return err
	}
	out, err := p.outcome(res)
	if err != nil {
		return err
	}
	if err := p.frames.releaseHeld(out.Interrupts); err != nil {
		return err
	}
	return p.emit(mapping.Event{Kind: mapping.KindEnd, Head: mapping.Head{Outcome: &out}})
}

func (p *agentProtocolClient) outcome(res plainResult) (mapping.Outcome, error) {
	switch res.Run.Status {
	case "success":
		return mapping.Outcome{Status: mapping.RunSuccess}, nil
	case "interrupted":
		out, names := mapping.Outcome{Status: mapping.RunInterrupted}, p.frames.questionIDs()
		for _, w := range res.Interrupts {
			out.Interrupts = append(out.Interrupts, w.question(names.id(w), p.frames.askers[w.id()], ""))
		}
		return out, nil
	case "error":
		return mapping.Outcome{}, p.agentError(errorWire{Message: res.Run.Error})
	case "timeout":
		return mapping.Outcome{}, p.tookTooLong()
	}
	return mapping.Outcome{}, p.b.http.bad(http.MethodGet, "/runs/{run_id}/wait", "field run.status is "+cmp.Or(res.Run.Status, "missing"))
}

func (b *backend) cancelPlain(ctx context.Context, link mapping.Link) error {
	if link.RemoteRun == "" {
		return nil
	}
	return b.runs.cancelAt(ctx, "/runs/"+url.PathEscape(link.RemoteRun)+"/cancel")
}
