package backend

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/upstream"
	"github.com/apbridge/apbridge/mapping"
)

// This file calls a server that has only the routes of the Agent Protocol
// 0.1.6: agents, threads, and runs that are not below a thread. Such a server
// tells no checkpoints and takes no answer to a question, and nothing promises
// that a stream is repeated: a stream that broke is not gone back to, the run
// is waited for.

// profilePlain marks the link of a thread on such a server.
const profilePlain = "agentprotocol"

func (s *session) runPlain() error {
	o := s.t.Run.Options
	if s.t.Resume || set(o.Update) != nil || set(o.Goto) != nil || len(o.InterruptBefore)+len(o.InterruptAfter) > 0 {
		return mapping.Errorf(mapping.Upstream, mapping.CodeNotSupported,
			"Agent %q is a plain Agent Protocol server: it has no way to take an answer or a command, or to stop at a node.", s.b.up.Name)
	}
	s.replay()
	switch {
	case s.logged(s.link.RemoteRun):
		return s.waitPlain()
	case s.t.Open:
		return s.lostPlain(nil)
	}
	if err := s.threadPlain(); err != nil {
		return err
	}
	return s.startPlain()
}

// threadPlain is openThread: the state goes in by PATCH, else with the input.
func (s *session) threadPlain() error {
	if s.link.Remote != "" && s.t.Values == nil {
		return nil
	}
	var made threadWire
	if err := s.createThread(threadCreate{ID: s.threadID(), IfExists: "do_nothing", Metadata: s.threadMetadata()}, &made); err != nil {
		return err
	}
	if made.ID == "" {
		return s.b.http.bad(http.MethodPost, "/threads", "thread_id is missing")
	}
	s.link = mapping.Link{Remote: made.ID, Profile: profilePlain}
	if err := s.emitLink(); err != nil || len(object(s.t.Values)) == 0 {
		return err
	}
	_, err := s.b.patchPlain(s.ctx, s.link, s.t.Values)
	if upstream.Status(err) == 0 || lostAnswer(err) {
		return err
	}
	return s.seedByInput(err)
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

// startPlain sends the run once. A server without /runs/stream is asked to
// answer when the run has ended.
func (s *session) startPlain() error {
	body := s.plainRequest()
	begun := time.Now()
	resp, err := s.openStream(http.MethodPost, "/runs/stream", body, "")
	switch code := upstream.Status(err); {
	case code == http.StatusNotFound || code == http.StatusMethodNotAllowed:
		return s.waitForPlain(body)
	case lostAnswer(err) && s.ctx.Err() == nil:
		return s.lostPlain(err)
	case err != nil:
		return err
	}
	defer resp.Body.Close()
	s.b.created.Took(time.Since(begun))
	if err := s.began(runOf(resp.Header)); err != nil {
		return err
	}
	if err := s.read(resp.Body); err != nil && (s.ctx.Err() != nil || !mayPass(err)) {
		return err
	}
	return s.waitPlain()
}

func (s *session) plainRequest() plainCreate {
	return plainCreate{
		Agent: s.target.id, Thread: s.link.Remote, Input: set(s.t.Input.Raw), Config: s.config(false), Metadata: s.metadata(),
		StreamMode:   []string{"values", "messages", "updates", "custom"},
		OnCompletion: "keep", OnDisconnect: "continue", IfNotExists: "create",
	}
}

// waitForPlain runs by POST /runs/wait.
func (s *session) waitForPlain(body plainCreate) error {
	body.StreamMode = nil
	var res plainResult
	begun := time.Now()
	call := upstream.Call{Method: http.MethodPost, Path: "/runs/wait", Operation: upstream.OpRun}
	err := s.b.http.waitJSON(s.ctx, call, body, &res)
	switch {
	case lostAnswer(err) && s.ctx.Err() == nil:
		return s.lostPlain(err)
	case err != nil:
		return err
	}
	s.b.created.Took(time.Since(begun))
	return s.endPlain(res)
}

// lostPlain looks for the run of a POST whose answer was lost, or, where nothing broke,
// that a process may have sent before it died.
func (s *session) lostPlain(broke error) error {
	found, err := s.lookFor(s.searchPlain)
	if err != nil || !found {
		return s.unresolved(broke, err)
	}
	return s.waitPlain()
}

func (s *session) searchPlain(ctx context.Context) (bool, error) {
	var list []runWire
	body := map[string]any{"metadata": map[string]string{runKey: s.t.Run.ID}, "limit": 10}
	if err := s.b.http.askJSON(ctx, "/runs/search", body, &list); err != nil {
		return false, err
	}
	for _, r := range list {
		if r.ID != "" && r.ours() == s.t.Run.ID {
			s.link.Remote, s.link.Profile = orElse(r.Thread, s.link.Remote), profilePlain
			return true, s.began(r.ID)
		}
	}
	return false, nil
}

// waitPlain asks for the run's result, again and again while it goes on: an
// answer may be cut off by whatever stands between.
func (s *session) waitPlain() error {
	if s.link.RemoteRun == "" {
		if found, err := s.lookFor(s.searchPlain); err != nil || !found {
			return s.unknown(errors.Join(orSilent(nil), err))
		}
	}
	path := "/runs/" + url.PathEscape(s.link.RemoteRun) + "/wait"
	for try := 0; ; try++ {
		res, err := s.resultPlain(path)
		switch {
		case upstream.Status(err) == http.StatusNotFound:
			return s.lost("run")
		case err == nil && !res.Run.active():
			return s.endPlain(res)
		case err != nil && (s.ctx.Err() != nil || !mayPass(err)):
			return err
		case err != nil && try >= len(s.b.pause.rejoin):
			return s.unknown(err)
		}
		if upstream.Sleep(s.ctx, s.b.pause.rejoin[min(try, len(s.b.pause.rejoin)-1)]) != nil {
			return orSilent(err)
		}
	}
}

// resultPlain waits as long as it takes: the session's context ends it.
func (s *session) resultPlain(path string) (res plainResult, err error) {
	call := upstream.Call{Method: http.MethodGet, Path: path, Operation: upstream.OpFollow}
	return res, s.b.http.waitJSON(s.ctx, call, nil, &res)
}

// endPlain tells the result. The run's id stands for the checkpoint that such
// a server does not name: it says that both sides agreed after that run.
func (s *session) endPlain(res plainResult) error {
	if err := s.began(res.Run.ID); err != nil {
		return err
	}
	if object(res.Values) != nil {
		ev := mapping.Event{Kind: mapping.KindState, Head: mapping.Head{Name: "values", Full: true}, Data: res.Values}
		if err := s.emit(ev); err != nil {
			return err
		}
	}
	s.link.RemoteCheckpoint = res.Run.ID
	if err := s.emitLink(); err != nil {
		return err
	}
	out, err := s.outcomePlain(res)
	if err != nil {
		return err
	}
	return s.emit(mapping.Event{Kind: mapping.KindEnd, Head: mapping.Head{Outcome: &out}})
}

func (s *session) outcomePlain(res plainResult) (mapping.Outcome, error) {
	switch res.Run.Status {
	case "success":
		return mapping.Outcome{Status: mapping.RunSuccess}, nil
	case "interrupted":
		out := mapping.Outcome{Status: mapping.RunInterrupted}
		for i, w := range res.Interrupts {
			out.Interrupts = append(out.Interrupts, s.interrupt(w, i))
		}
		return out, nil
	case "error":
		return mapping.Outcome{}, s.agentError(errorWire{Message: res.Run.Error})
	case "timeout":
		return mapping.Outcome{}, mapping.Errorf(mapping.Timeout, mapping.CodeRunTimeout, "Agent %q ended the run for taking too long.", s.b.up.Name)
	}
	return mapping.Outcome{}, s.b.http.bad(http.MethodGet, "/runs/{run_id}/wait", "field run.status is "+orElse(res.Run.Status, "missing"))
}

func (b *backend) cancelPlain(ctx context.Context, link mapping.Link) error {
	if link.RemoteRun == "" {
		return nil
	}
	return b.cancelAt(ctx, "/runs/"+url.PathEscape(link.RemoteRun)+"/cancel")
}
