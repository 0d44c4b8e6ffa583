package threadrun

import (
	"strings"
	"testing"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
)

// TestRemovedMessagesAreGone checks that LangChain's RemoveMessage removes messages from the thread of a task/step
// agent, in whatever form, and that the agent receives neither them nor the removal.
func TestRemovedMessagesAreGone(t *testing.T) {
	t.Parallel()
	const asks = `{"role":"user","id":"m2","content":"who?"}`
	for name, c := range map[string]struct{ update, input, want string }{
		"by an update":           {`{"type":"remove","id":"m1","content":""}`, asks, "Conversation so far:\n\nAssistant: one\n\nCurrent request:\nwho?"},
		"by LangChain's JSON":    {`{"lc":1,"type":"constructor","id":["langchain_core","messages","RemoveMessage"],"kwargs":{"id":"m1"}}`, asks, "Conversation so far:\n\nAssistant: one\n\nCurrent request:\nwho?"},
		"all, by an update":      {`{"type":"remove","id":"__remove_all__"}`, asks, "who?"},
		"by an input":            {``, `{"role":"remove","id":"m1","content":""},` + asks, "Conversation so far:\n\nAssistant: one\n\nCurrent request:\nwho?"},
		"all, by an input":       {``, `{"type":"remove","id":"__remove_all__","content":""},` + asks, "who?"},
		"what is not there":      {``, `{"type":"remove","id":"m9"},` + asks, "Conversation so far:\n\nUser: one\nAssistant: one\n\nCurrent request:\nwho?"},
		"all, again by an input": {`{"type":"remove","id":"__remove_all__"}`, `{"role":"user","content":"old"},{"type":"remove","id":"__remove_all__"},` + asks, "who?"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := rig.InFront(t, echo())
			at := b.Thread()
			run := func(messages string) string {
				return said(t, b.Post(at+"/runs/wait", `{"assistant_id":"agent","input":{"messages":[`+messages+`]}}`))
			}
			run(`{"role":"user","id":"m1","content":"one"}`)
			if c.update != "" {
				b.Post(at+"/state", `{"values":{"messages":[`+c.update+`]}}`).OK()
			}
			if got := run(c.input); got != c.want {
				t.Errorf("the agent received %q, want %q", got, c.want)
			}
			state := b.Get(at + "/state").OK()
			if strings.Contains(string(state.Body), `"remove"`) {
				t.Errorf("the state contains a removal: %s", state.Body)
			}
			if found := strings.Contains(string(state.Body), `"m1"`); found != (name == "what is not there") {
				t.Errorf("the first message is in the state: %t", found)
			}
		})
	}
}

// TestRemovalNeedsAMessageID checks that a removal needs an id, as in LangChain's class.
func TestRemovalNeedsAMessageID(t *testing.T) {
	t.Parallel()
	b := rig.InFront(t, echo())
	at := b.Thread()
	b.Post(at+"/state", `{"values":{"messages":[{"type":"remove"}]}}`).Want(t, 422, "a removal needs the id")
	b.Post(at+"/runs/wait", `{"assistant_id":"agent","input":{"messages":[{"role":"remove","content":""}]}}`).Want(t, 422, "a removal needs the id")
}
