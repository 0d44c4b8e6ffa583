package mapping

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestOutcomeThread(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		o    Outcome
		want ThreadStatus
	}{
		{Outcome{Status: RunSuccess}, ThreadIdle}, {Outcome{Status: RunError}, ThreadError}, {Outcome{Status: RunTimeout}, ThreadError},
		{Outcome{Status: RunInterrupted}, ThreadInterrupted}, {Outcome{Status: RunInterrupted, Cancelled: true}, ThreadIdle}, {Outcome{Parked: true}, ThreadInterrupted},
	} {
		if got := c.o.Thread(); got != c.want {
			t.Errorf("%+v leaves the thread %s, want %s", c.o, got, c.want)
		}
	}
	for status, active := range map[RunStatus]bool{RunPending: true, RunRunning: true, RunSuccess: false, RunError: false, RunTimeout: false, RunInterrupted: false} {
		if status.Active() != active {
			t.Errorf("%s.Active() = %v", status, !active)
		}
	}
}

func TestClassify(t *testing.T) {
	t.Parallel()
	cause := errors.New("refused")
	known := Errorf(Upstream, CodeUpstreamUnreachable, "Agent %s does not answer.", "a")
	known.Err = cause
	if got := Classify(fmt.Errorf("run: %w", known)); got != known || !errors.Is(got, cause) {
		t.Errorf("Classify lost the error: %v", got)
	}
	hidden := Classify(cause)
	if hidden.Class != Internal || !errors.Is(hidden, cause) || strings.Contains(hidden.Message, "refused") {
		t.Errorf("an unknown error is visible: %+v", hidden)
	}
	if f := FaultOf(known); f.Code != CodeUpstreamUnreachable || f.Message != "Agent a does not answer." {
		t.Errorf("fault %+v", f)
	}
	if got := known.Error(); got != "upstream_unreachable: Agent a does not answer.: refused" {
		t.Error(got)
	}
	if got := Errorf(Invalid, CodeInvalid, "No.").Error(); got != "invalid_request: No." {
		t.Error(got)
	}
}

func TestPrincipal(t *testing.T) {
	t.Parallel()
	anyone, one, none := Principal{}, Principal{Tenant: "t", Agents: []string{"a"}}, Principal{Agents: []string{}}
	if !anyone.May("a") || !one.May("a") || one.May("b") || none.May("a") {
		t.Error("May ignores Agents")
	}
	ctx := WithPrincipal(context.Background(), one)
	if PrincipalOf(ctx).Tenant != "t" || PrincipalOf(context.Background()).Tenant != "" {
		t.Error("the context does not carry the principal")
	}
}
