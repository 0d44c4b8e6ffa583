package request

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/apbridge/apbridge/mapping/rawjson"
)

// UnlessEmpty returns a member's value, or nil for an empty list or string.
func UnlessEmpty(v json.RawMessage) json.RawMessage {
	if k := rawjson.Kind(v); (k == '[' || k == '"') && len(bytes.Trim(v, "[]\" \t\r\n")) == 0 {
		return nil
	}
	return v
}

// TextPointer returns the result of read, a getter of o, for a member. It returns nil if the member is absent.
func TextPointer(o *Fields, name string, read func(string) string) *string {
	if o.Get(name) == nil {
		return nil
	}
	s := read(name)
	return &s
}

// minutesMost is the maximum time to live in minutes, about 95 years. To keep something longer, clients omit it.
const minutesMost = 50_000_000

// Minutes reads a number of minutes. It returns nil if the member is absent.
func Minutes(o *Fields, name string) *time.Duration {
	v := o.typed(name, '0', "a number of minutes")
	if v == nil {
		return nil
	}
	var n float64
	if err := json.Unmarshal(v, &n); err != nil || n <= 0 || n > minutesMost {
		o.Refuse(name, "must be a number of minutes above 0, and at most %d", minutesMost)
		return nil
	}
	d := max(time.Duration(n*float64(time.Minute)), time.Microsecond) // the resolution of the store
	return &d
}
