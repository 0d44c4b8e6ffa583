package inspect

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/body"
	"github.com/apbridge/apbridge/adapter/inspect/conversation"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/gorilla/mux"
)

// forking has an agent go on from a checkpoint of a thread.
type forking struct {
	*starting
	states stateReader
}

// stateReader is part of adapter.States.
type stateReader interface {
	GetState(ctx context.Context, threadID, checkpointID string) (adapter.ThreadState, error)
}

func (f *forking) serve(w http.ResponseWriter, r *http.Request) error {
	in, err := body.Values(w, r, 0)
	if err != nil {
		return err
	}
	thread := mux.Vars(r)["thread_id"]
	st, err := f.states.GetState(r.Context(), thread, in.Get(inputCheckpoint))
	if err != nil {
		return err
	}
	input, err := inputOf(in)
	if err != nil {
		return err
	}
	if in.Get(inputSure) != "yes" {
		asked, err := f.agents.GetAssistant(r.Context(), in.Get(inputAgent))
		if err != nil {
			return err
		}
		says := []string{fmt.Sprintf("The agent %q goes on from this checkpoint, on a new line of the thread's history.", cmp.Or(in.Get(inputAgent), asked.Graph)),
			"The thread stands on that line then. What came after the checkpoint stays, and can be gone back to."}
		if input == nil {
			says = append(says, "It is given no input: it does the steps that come next there.")
		}
		return f.confirm(w, r, confirmation{
			Question: "Go on from here?", Says: says, Sends: conversation.Cut(string(input)).Text, Button: "Go on from here",
			Back: threadPath(thread) + "/checkpoints/" + url.PathEscape(st.Checkpoint),
		}, inputAgent, in.Get(inputAgent), inputCheckpoint, st.Checkpoint, inputJSON, asField(input))
	}
	return f.start(w, r, adapter.RunRequest{
		ThreadID: thread, CheckpointID: st.Checkpoint, Agent: in.Get(inputAgent), Flavour: f.flavour(""), Input: input, HasInput: input != nil,
		Kwargs: rule.RequestOf(input), Multitask: mapping.StrategyReject, IdempotencyKey: in.Get(inputOnce), Fields: []string{"input"},
	})
}

// inputOf is the input that a form says: JSON, or a message; nil: none.
func inputOf(in url.Values) (json.RawMessage, error) {
	if whole := strings.TrimSpace(in.Get(inputJSON)); whole != "" {
		if !rawjson.Valid([]byte(whole)) {
			return nil, mapping.InvalidAt(inputJSON, "it has to be JSON.")
		}
		return json.RawMessage(whole), nil
	}
	if said := in.Get(inputSays); strings.TrimSpace(said) != "" {
		w := new(rawjson.Writer).Open('{').Key("messages").Open('[').Open('{').Key("role").Text("user").Key("content").Text(said)
		return w.Close('}').Close(']').Close('}').Bytes, nil
	}
	return nil, nil
}

// asField is a value as a hidden field holds it; "" for none.
func asField(value json.RawMessage) string {
	if len(value) == 0 {
		return ""
	}
	return adapter.InASCII(value)
}
