package rule

import (
	"slices"

	"github.com/apbridge/apbridge/mapping"
)

// InnerTokens reports whether a run's frames of inner graphs are asked for to have their tokens alone. LangGraph's mode
// messages shows those of all graphs; messages-tuple, of which the bridge makes it, only those of the outermost one
// (@langchain/langgraph from 1.5). Servers of LangGraph for JavaScript leave events of inner graphs out where frames of
// inner graphs are asked for, so a client that wants both modes has no such tokens.
func InnerTokens(o *mapping.RunOptions) bool {
	return !o.Subgraphs && slices.Contains(o.StreamModes, "messages") && !slices.Contains(o.StreamModes, "events")
}
