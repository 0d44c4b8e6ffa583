package state

import (
	"encoding/json"

	"github.com/apbridge/apbridge/mapping/rawjson"
)

// change writes an object that begins with its first member.
type change struct{ w rawjson.Writer }

// member begins a member whose name needs no escapes. Its value must follow.
func (c *change) member(name string) *rawjson.Writer { return c.begun().Key(name) }

func (c *change) begun() *rawjson.Writer {
	if c.empty() {
		c.w.Open('{')
	}
	return &c.w
}

func (c *change) empty() bool { return len(c.w.Bytes) == 0 }

// done returns the object, or nil if it has no members.
func (c *change) done() json.RawMessage {
	if c.empty() {
		return nil
	}
	return c.w.Close('}').Bytes
}
