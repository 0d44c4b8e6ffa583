package state

import (
	"encoding/json"
	"slices"

	"github.com/apbridge/apbridge/mapping/rawjson"
)

// RemoveAll is the id of a removal that removes every message before it (REMOVE_ALL_MESSAGES of
// langgraph/graph/message.py).
const RemoveAll = "__remove_all__"

// kindRemove is the type of LangChain's RemoveMessage.
const kindRemove = "remove"

// Removes reports whether a message of a delta is LangChain's RemoveMessage, which removes the message with its id. In
// logs of older versions such messages have additional_kwargs, like all messages, and later differences count them as
// elements. Removes therefore returns false for them.
func Removes(message json.RawMessage) bool {
	if rawjson.Kind(message) != '{' {
		return false
	}
	kind := rawjson.GetText(message, "type")
	return kind == kindRemove && rawjson.Get(message, "additional_kwargs") == nil
}

// reduce is merge with removals, like add_messages in langgraph/graph/message.py. Unlike there, removing a missing
// message has no effect, because every log must be readable.
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

// partRemovals separates messages from the ids to remove. A message that follows its own removal is kept.
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
	delete(gone, "") // it does not apply to messages without an id
	return stay, gone
}

// without returns the list without the elements with these ids.
func (l *list) without(ids map[string]bool) *list {
	if len(ids) == 0 {
		return l
	}
	return newList(slices.DeleteFunc(slices.Clone(l.elems), func(e json.RawMessage) bool { return ids[IDOfMessage(e)] }))
}
