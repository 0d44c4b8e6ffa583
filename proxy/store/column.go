package store

import (
	"encoding/json"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

// objectOrEmpty returns JSON as a parameter of a column that holds an object. Empty JSON becomes {}.
func objectOrEmpty(raw json.RawMessage) []byte {
	if len(raw) == 0 || string(raw) == "null" {
		return []byte("{}")
	}
	return raw
}

// keyOrNull returns a surrogate key as a parameter. 0 becomes NULL.
func keyOrNull(key int64) any {
	if key == 0 {
		return nil
	}
	return key
}

// notNull returns bytes as a parameter of a column that is never NULL.
func notNull(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// encode returns v as JSON without HTML escapes, so that texts keep their characters.
func encode(v any) ([]byte, error) { return rawjson.Encode(v) }

// usualHead is the size in bytes that suffices for the heads of most events.
const usualHead = 384

// encodeHead returns a head as JSON, or nil for an empty head, such as that of a token.
func encodeHead(h *mapping.Head) ([]byte, error) {
	b, err := h.AppendJSON(make([]byte, 0, usualHead))
	if len(b) == 2 {
		return nil, err
	}
	return b, err
}

// encodeInterrupts returns questions as JSON, or nil if there are none.
func encodeInterrupts(list []mapping.Interrupt) ([]byte, error) {
	if len(list) == 0 {
		return nil, nil
	}
	return encode(list)
}

// encodeFault returns a failure as JSON, or nil if there is none.
func encodeFault(f *mapping.Fault) ([]byte, error) {
	if f == nil {
		return nil, nil
	}
	return encode(f)
}

// decode reads a column written by encode. NULL leaves v unchanged.
func decode(b []byte, v any) error {
	if len(b) == 0 {
		return nil
	}
	return json.Unmarshal(b, v)
}

// fillKeys returns base with the keys of extra that it lacks, in one copy.
func fillKeys(base, extra json.RawMessage) (json.RawMessage, error) {
	if rawjson.IsNull(extra) {
		return objectOrEmpty(base), nil
	}
	return rawjson.Merge(objectOrEmpty(base), extra, func(_ string, value, _ json.RawMessage) (json.RawMessage, error) {
		return value, nil
	})
}

// rawOf lets a scan fill a json.RawMessage without a conversion.
func rawOf(raw *json.RawMessage) *[]byte { return (*[]byte)(raw) }
