package rule

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

// InnerTokens reports whether a run's frames of inner graphs were requested only for their tokens. LangGraph's mode
// messages has the tokens of all graphs. The bridge derives it from messages-tuple, which has only the tokens of the
// outermost graph (@langchain/langgraph from 1.5). Servers of LangGraph for JavaScript omit events of inner graphs if
// frames of inner graphs are requested. If a run has both modes, the tokens are in its events. See EventTokens.
func InnerTokens(o *mapping.RunOptions) bool {
	return tokensWithin(o) && !slices.Contains(o.StreamModes, "events")
}

// EventTokens reports whether the tokens of a run's inner graphs are taken from its frames of the mode events.
func EventTokens(o *mapping.RunOptions) bool {
	return tokensWithin(o) && slices.Contains(o.StreamModes, "events")
}

func tokensWithin(o *mapping.RunOptions) bool {
	return !o.Subgraphs && slices.Contains(o.StreamModes, "messages")
}

// InnerToken returns the token of an inner graph in a frame of the mode events, and its metadata. It returns nil if
// there is none, or if its graph excludes it from the mode messages.
func InnerToken(event json.RawMessage) (chunk, metadata json.RawMessage) {
	if rawjson.GetText(event, "event") != "on_chat_model_stream" {
		return nil, nil
	}
	metadata = rawjson.Get(event, "metadata")
	if !strings.Contains(rawjson.GetText(metadata, "langgraph_checkpoint_ns"), "|") {
		return nil, nil
	}
	for _, tag := range rawjson.ElementsOf(rawjson.Get(event, "tags")) {
		if rawjson.TextOf(tag) == "nostream" {
			return nil, nil
		}
	}
	return rawjson.Get(rawjson.Get(event, "data"), "chunk"), metadata
}
