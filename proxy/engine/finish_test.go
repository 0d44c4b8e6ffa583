package engine_test

import (
	"errors"
	"testing"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/engine"
	"github.com/apbridge/apbridge/proxy/store/storetest/blank"
)

// The run itself is left unchanged for the next process. Its agent's only slot is available to the next run, and
// nothing else fails.
func TestPanicAtTheEndOfARunReleasesItsSlot(t *testing.T) {
	t.Parallel()
	one := config.DefaultAgent()
	one.Concurrency = 1
	dialects := adapter.Dialects{{
		Flavours: []adapter.Flavour{{Name: "langgraph"}},
		Hook:     func(adapter.HookNotice) (adapter.HookPost, error) { panic(errors.New("no body")) },
	}}
	b := assemble(t, blank.DSN(t), config.Default(), engine.NewAgent("a", one, &script{exposes: mapping.ExposesNothing, run: twoSteps}), dialects)
	t.Cleanup(b.close)
	o := order(mapping.NewID(), mapping.StrategyReject)
	o.New.Run.Options.Webhook = "http://127.0.0.1:1/"
	left := b.begin(t, o)
	eventually(t, "the run leaving unchanged", func() bool { return b.status(t, left) == mapping.RunRunning && b.Live() == 0 })
	if out := b.end(t, b.begin(t, order(mapping.NewID(), mapping.StrategyReject))); out.Status != mapping.RunSuccess {
		t.Errorf("the next run ended with %s", out.Status)
	}
}
