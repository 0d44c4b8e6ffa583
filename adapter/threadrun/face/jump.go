package face

import (
	"encoding/json"
	"slices"

	"github.com/apbridge/apbridge/adapter/threadrun/face/request"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

// jumpOf reads a command's goto: the name of a node, a Send {node, …}, or a list of both; nil where there is none. An
// agent refuses what is neither, but when the answer that comes with it is spent: the question is closed then.
func jumpOf(c *request.Fields) json.RawMessage {
	to := request.UnlessEmpty(c.Get("goto"))
	list := []json.RawMessage{to}
	if rawjson.Kind(to) == '[' {
		list, _ = rawjson.Elements(to)
	}
	if to != nil && slices.ContainsFunc(list, func(one json.RawMessage) bool { return !leads(one) }) {
		c.Complain("goto", "must be the name of a node, a Send {node, …}, or a list of these")
		return nil
	}
	return to
}

// leads reports whether one member of a goto says to which node.
func leads(to json.RawMessage) bool {
	if rawjson.Kind(to) == '{' {
		to = rawjson.Get(to, "node")
	}
	node, ok := rawjson.Text(to)
	return ok && node != ""
}
