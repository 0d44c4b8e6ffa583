package service

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/credential"
	"github.com/apbridge/apbridge/proxy/store"
)

func (s *Service) ListCalls(ctx context.Context, ref adapter.RunRef) (adapter.KeptCalls, error) {
	kept, err := s.keptCalls(ctx, ref)
	if err == nil {
		err = s.withholdCalls(ctx, ref, kept.Calls)
	}
	return kept, err
}

// withholdCalls removes the bodies of calls that may contain items the caller must not read. These are items passed to
// an agent in the run or in another run of its thread, since the agent may repeat them. It removes the namespaces from
// all calls.
func (s *Service) withholdCalls(ctx context.Context, ref adapter.RunRef, list []adapter.AgentCall) error {
	who := mapping.PrincipalOf(ctx)
	beyond := false
	if who.Namespaces != nil && len(list) > 0 {
		var err error
		if beyond, err = s.toldBeyond(ctx, who, ref); err != nil {
			return err
		}
	}
	for i := range list {
		c := &list[i]
		if beyond || slices.ContainsFunc(c.Recalled, func(ns []string) bool { return !who.MayReach(ns) }) {
			c.Withhold()
		}
		c.Recalled = nil
	}
	return nil
}

// toldBeyond reports whether items that the caller must not read were passed to an agent on the run's thread.
func (s *Service) toldBeyond(ctx context.Context, who mapping.Principal, ref adapter.RunRef) (bool, error) {
	run, err := s.store.Runs.Get(ctx, ref.ThreadID, ref.RunID)
	if err != nil {
		return false, err
	}
	told, err := s.store.Events.Recalled(ctx, run.ThreadID, 0)
	for _, one := range told {
		if slices.ContainsFunc(one.Items, func(it mapping.ItemName) bool { return !who.MayReach(it.Namespace) }) {
			return true, nil
		}
	}
	return false, err
}

// keptCalls returns the calls in the database and, if the run executes in this process, the later ones in memory.
func (s *Service) keptCalls(ctx context.Context, ref adapter.RunRef) (adapter.KeptCalls, error) {
	kept := adapter.KeptCalls{Capture: s.engine.Capture()}
	now, live := s.engine.Calls(ref.RunID) // read first: a run that ends in between has its calls in the database
	stored, err := s.store.Calls.List(ctx, ref.ThreadID, ref.RunID)
	if err != nil {
		return kept, err
	}
	for _, row := range stored {
		c, err := decodeCall(row)
		if err != nil {
			return kept, err
		}
		kept.Calls = append(kept.Calls, c)
	}
	if _, still := s.engine.Calls(ref.RunID); live && still {
		kept.Live, kept.AgentTime = true, s.engine.AgentTime(ref.RunID)
		kept.Calls = append(kept.Calls, numbered(now, lastOf(kept.Calls))...)
	}
	for i := range kept.Calls {
		hideHead(&kept.Calls[i])
	}
	return kept, nil
}

func (s *Service) GetCall(ctx context.Context, ref adapter.RunRef, n int64) (adapter.AgentCall, error) {
	c, err := s.keptCall(ctx, ref, n)
	if err != nil {
		return c, err
	}
	hideHead(&c)
	for _, p := range []*adapter.CallPart{&c.Sent, &c.Received} {
		p.SetBody(noneKnown.HideBytes(p.Body))
	}
	one := []adapter.AgentCall{c}
	err = s.withholdCalls(ctx, ref, one)
	return one[0], err
}

func (s *Service) keptCall(ctx context.Context, ref adapter.RunRef, n int64) (adapter.AgentCall, error) {
	row, err := s.store.Calls.Get(ctx, ref.ThreadID, ref.RunID, n)
	if err == nil {
		return decodeCall(row)
	}
	if !errors.Is(err, sql.ErrNoRows) {
		return adapter.AgentCall{}, err
	}
	kept, err := s.keptCalls(ctx, ref)
	if err != nil {
		return adapter.AgentCall{}, err
	}
	for _, c := range kept.Calls {
		if c.N == n && kept.Live {
			return c, nil
		}
	}
	return adapter.AgentCall{}, adapter.NoCall(ref.RunID, n)
}

// noneKnown hides the credentials of clients and agents. Those of the bridge were hidden when the call was recorded.
var noneKnown credential.Set

// hideHead removes credentials from everything but the bodies.
func hideHead(c *adapter.AgentCall) {
	c.URL, c.Error = noneKnown.Hide(c.URL), noneKnown.Hide(c.Error)
	for _, header := range []map[string]string{c.Sent.Header, c.Received.Header} {
		for name, value := range header {
			header[name] = noneKnown.Hide(value)
		}
	}
}

func lastOf(list []adapter.AgentCall) int64 {
	if n := len(list); n > 0 {
		return list[n-1].N
	}
	return 0
}

// numbered renumbers calls to follow those before.
func numbered(list []adapter.AgentCall, before int64) []adapter.AgentCall {
	for i := range list {
		list[i].N += before
	}
	return list
}

func decodeCall(row store.RunCall) (c adapter.AgentCall, err error) {
	if err = json.Unmarshal(row.Head, &c); err != nil {
		return c, fmt.Errorf("reading a stored call: %w", err)
	}
	c.N, c.Sent.Body, c.Received.Body = row.N, row.Sent, row.Received
	return c, nil
}
