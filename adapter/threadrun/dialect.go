// Package threadrun implements the LangChain Agent Protocol (0.1.6) and the LangGraph Server routes that LangGraph's
// SDKs call. They are two flavours of one dialect with threads, runs and a store. Package face serves clients, and
// package backend calls agents. Only package bridge imports threadrun, for its table of dialects. It keeps no state and
// knows no other dialect. Start reading at Dialect.
package threadrun

import (
	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/threadrun/backend"
	"github.com/apbridge/apbridge/adapter/threadrun/face"
	"github.com/apbridge/apbridge/adapter/threadrun/face/render"
	"github.com/apbridge/apbridge/mapping"
)

// Dialect returns both sides of the thread/run dialect.
func Dialect() adapter.Dialect {
	return adapter.Dialect{
		Name:        "threadrun",
		Aliases:     []string{"langgraph"},
		Paths:       []string{"/threads", "/runs", "/agents", "/assistants", "/store", "/data", "/ok", "/info", "/limits", "/ui"},
		PublicPaths: []string{"/ok"},
		Runs:        []string{"/runs/{run}", "/threads/{thread}/runs/{run}"},
		Store:       []string{"/store"},
		Mount:       face.Mount,
		Effect:      face.Effect,
		Refusal:     face.Refusal,
		Fields:      face.RequestFields(),
		Documents:   documents(),
		Speaks:      "threads and runs (LangGraph and its SDKs, the LangChain Agent Protocol)",
		Chooses:     "as assistant_id or agent_id of a run",
		Flavours:    flavours(),
		Hook:        hook,
		Snippets:    code,
		Clients:     "Thread and run",
		Observe:     render.Observe,

		Dial:         backend.Dial,
		Detect:       backend.Detect,
		Capabilities: backend.Capabilities(),
	}
}

// hook returns the request that notifies a webhook of the end of a run.
func hook(n adapter.HookNotice) (adapter.HookPost, error) {
	body, err := render.WebhookBody(n.Run, n.Outcome, n.Values)
	return adapter.HookPost{Body: body}, err
}

// flavours returns the two flavours. The default strategy is enqueue in LangGraph's documentation (Double Texting) and
// reject in the Agent Protocol's schema RunCreate.
func flavours() []adapter.Flavour {
	return []adapter.Flavour{
		{Name: render.FlavourLangGraph, Request: face.RequestForRun, Strategy: mapping.StrategyEnqueue},
		{Name: render.FlavourAgentProtocol, Request: face.RequestForRun, Strategy: mapping.StrategyReject},
	}
}
