package threadrun

import "encoding/json"

// member is one member of a JSON object, in its place and with its bytes.
type member struct {
	name  string
	value json.RawMessage
}
