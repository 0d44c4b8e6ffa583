package rule

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

// InnerTokens reports whether a run's frames of inner graphs are asked for to have their tokens alone. LangGraph's mode
// messages shows those of all graphs; messages-tuple, of which the bridge makes it, only those of the outermost one
// (@langchain/langgraph from 1.5). Servers of LangGraph for JavaScript leave events of inner graphs out where frames of
// inner graphs are asked for. A run with both modes has the tokens in its events: EventTokens.
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

// InnerToken returns the token of an inner graph that a frame of the mode events has, with its metadata; nil for none,
// and for one that its graph keeps out of the mode messages.
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
