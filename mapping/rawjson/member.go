package rawjson

import "encoding/json"

// Member is one member of a JSON object, in its place and with its bytes.
type Member struct {
	Name  string
	Value json.RawMessage
}
