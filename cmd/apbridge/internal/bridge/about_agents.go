package bridge

import (
	"context"
	"strconv"

	"github.com/apbridge/apbridge/adapter/inspect"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/front"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/engine"
)

// aboutAgents returns agents for the inspector. The results of other callers' calls are included only for callers that
// may read the metrics.
func (i *inspector) aboutAgents(ctx context.Context, names []string) map[string]inspect.AgentInfo {
	agents, asked := map[string]*engine.Agent{}, map[string]front.Agent{}
	for _, name := range names {
		if agent, ok := i.engine.Agent(name); ok {
			agents[name], asked[name] = agent, agent
		}
	}
	health := i.checkups.Of(ctx, asked)
	all := make(map[string]inspect.AgentInfo, len(agents))
	for name, agent := range agents {
		h := health[name]
		info := inspect.AgentInfo{
			Dialect: agent.Dialect(), State: string(h.State), Good: h.State == front.Answers, Known: h.State != front.Unknown, Profile: h.Message,
			Asked: h.Asked, Took: h.Took, Settings: settingsOf(agent.Config),
		}
		if traits, known := agent.Known(); known {
			info.Kind, info.Stateful = traits.Kind, traits.Exposes.ReportsState()
		}
		if mapping.PrincipalOf(ctx).MayReadMetrics() {
			info.Calls = shownCalls(i.calls.Newest(name))
		}
		all[name] = info
	}
	return all
}

func shownCalls(s front.CallSummary) *inspect.AgentCalls {
	return &inspect.AgentCalls{Calls: s.Calls, Failed: s.Failed, Median: mapping.Span(s.Median), Slow: mapping.Span(s.Slow), Answered: s.Answered}
}

func stepsOf(c config.Agent) string {
	if c.MaxSteps == 0 {
		return "default"
	}
	return strconv.Itoa(c.MaxSteps)
}

// settingsOf returns the settings of an agent that its clients notice. None of them is a secret.
func settingsOf(c config.Agent) []inspect.Setting {
	return []inspect.Setting{
		{Key: "dialect", Value: c.Dialect}, {Key: "assistant", Value: c.Assistant}, {Key: "approval", Value: c.Approval},
		{Key: "stepping.mode", Value: c.Stepping.Mode}, {Key: "multitask_default", Value: c.Multitask},
		{Key: "concurrency", Value: strconv.Itoa(c.Concurrency)}, {Key: "queue", Value: strconv.Itoa(c.Queue)},
		{Key: "max_steps", Value: stepsOf(c)}, {Key: "retries", Value: strconv.Itoa(c.Retries)},
		{Key: "step_timeout", Value: c.StepTimeout.String()}, {Key: "run_timeout", Value: c.RunTimeout.String()},
		{Key: "passthrough", Value: strconv.FormatBool(c.Passthrough)}, {Key: "memory.history", Value: c.Memory.History},
	}
}
