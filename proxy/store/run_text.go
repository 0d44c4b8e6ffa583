package store

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

// saying returns the filter for a text search, or nil if every run passes.
func saying(text string) func(*mapping.Run) bool {
	if text == "" {
		return nil
	}
	plain := strings.ToLower(text)
	quoted := plain
	if b, err := rawjson.Encode(plain); err == nil {
		quoted = strings.Trim(string(b), `"`)
	}
	return func(r *mapping.Run) bool {
		for _, id := range []string{r.ID, r.ThreadID, r.TaskID} {
			if strings.Contains(id, plain) {
				return true
			}
		}
		if r.Fault != nil && strings.Contains(strings.ToLower(r.Fault.Message+" "+r.Fault.Name+" "+r.Fault.Code), plain) {
			return true
		}
		return holds(r.Kwargs, plain, quoted) || holds(r.Metadata, plain, quoted)
	}
}

// holds reports whether JSON contains the text, plain or with quotes and line breaks escaped. It first decodes \u
// escapes.
func holds(raw json.RawMessage, plain, quoted string) bool {
	if bytes.Contains(raw, []byte(`\u`)) {
		var v any
		if json.Unmarshal(raw, &v) == nil {
			if b, err := rawjson.Encode(v); err == nil {
				raw = b
			}
		}
	}
	low := string(bytes.ToLower(raw))
	return strings.Contains(low, plain) || strings.Contains(low, quoted)
}
