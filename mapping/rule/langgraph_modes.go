package rule

import (
	"slices"

	"github.com/apbridge/apbridge/mapping"
)

// InnerTokens reports whether a run's frames of inner graphs were requested only for their tokens. LangGraph's mode
// messages has the tokens of all graphs. The bridge derives it from messages-tuple, which only has those of the
// outermost graph (@langchain/langgraph from 1.5). Servers of LangGraph for JavaScript omit events of inner graphs if
// frames of inner graphs are requested, so a client that wants both modes has no such tokens.
func InnerTokens(o *mapping.RunOptions) bool {
	return !o.Subgraphs && slices.Contains(o.StreamModes, "messages") && !slices.Contains(o.StreamModes, "events")
}
