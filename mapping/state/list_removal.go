package state

import (
	"encoding/json"
	"slices"

	"github.com/apbridge/apbridge/mapping/rawjson"
)

// RemoveAll is the id of the removal that stands for every message before it (REMOVE_ALL_MESSAGES of
// langgraph/graph/message.py).
const RemoveAll = "__remove_all__"

// kindRemove is the type of LangChain's RemoveMessage.
const kindRemove = "remove"

// Removes reports whether a message of a delta is LangChain's RemoveMessage, which takes the message with its id away.
// Logs of older versions have such messages with kwargs, which every message got then, and the differences after them
// count those as messages: so they stay some.
func Removes(message json.RawMessage) bool {
	if rawjson.Kind(message) != '{' {
		return false
	}
	kind, _ := rawjson.Text(rawjson.Get(message, "type"))
	return kind == kindRemove && rawjson.Get(message, "additional_kwargs") == nil
}

// reduce is merge with removals, in the way of add_messages in langgraph/graph/message.py, but that one of a message
// that is not there removes nothing: a log must be readable whatever it holds.
func (l *list) reduce(messages []json.RawMessage) *list {
	if !slices.ContainsFunc(messages, Removes) {
		return l.merge(messages)
	}
	for at, m := range slices.Backward(messages) {
		if Removes(m) && hasID(m, RemoveAll) {
			return newList(nil).reduce(messages[at+1:])
		}
	}
	stay, gone := partRemovals(messages)
	return l.merge(stay).without(gone)
}

// partRemovals parts messages from the ids of those that are removed. A message after its own removal stands.
func partRemovals(messages []json.RawMessage) (stay []json.RawMessage, gone map[string]bool) {
	gone = map[string]bool{}
	for _, m := range messages {
		if id := IDOfMessage(m); Removes(m) {
			gone[id] = true
		} else {
			delete(gone, id)
			stay = append(stay, m)
		}
	}
	delete(gone, "") // no message without an id is meant
	return stay, gone
}

// without is the list without the elements that have one of the ids.
func (l *list) without(ids map[string]bool) *list {
	if len(ids) == 0 {
		return l
	}
	return newList(slices.DeleteFunc(slices.Clone(l.elems), func(e json.RawMessage) bool { return ids[IDOfMessage(e)] }))
}
