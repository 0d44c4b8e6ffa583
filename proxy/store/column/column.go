// Package column says how values of the model stand in columns and in the texts of statements, and reads them back.
// Package store and the packages below it call it. It runs no statement.
package column

import (
	"bytes"
	"encoding/json"
	"slices"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
)

// Micros returns a time as a column holds it: microseconds UTC, 0 for the zero time.
func Micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// TimeOf returns the time that Micros has written: the zero time for 0.
func TimeOf(us int64) time.Time { return sqldb.TimeOf(us) }

// Object returns JSON as a parameter of a column that holds an object: {} for none.
func Object(raw json.RawMessage) []byte {
	if len(raw) == 0 || string(raw) == "null" {
		return []byte("{}")
	}
	return raw
}

// KeyOrNull returns a surrogate key as a parameter; 0 is NULL.
func KeyOrNull(key int64) any {
	if key == 0 {
		return nil
	}
	return key
}

// NotNull returns bytes as a parameter of a column that is never NULL.
func NotNull(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// Number returns a truth value as a column holds it: 1 for true, 0 for false.
func Number(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// Encode returns v as JSON without HTML escapes: what agents and clients wrote keeps its letters.
func Encode(v any) ([]byte, error) { return rawjson.Encode(v) }

// usualHead is what the heads of most events fit into, in bytes.
const usualHead = 384

// EncodeHead returns a head as JSON, nil for one that says nothing, as that of a token does.
func EncodeHead(h *mapping.Head) ([]byte, error) {
	b, err := h.AppendJSON(make([]byte, 0, usualHead))
	if len(b) == 2 {
		return nil, err
	}
	return b, err
}

// EncodeInterrupts returns questions as JSON, nil for none.
func EncodeInterrupts(list []mapping.Interrupt) ([]byte, error) {
	if len(list) == 0 {
		return nil, nil
	}
	return Encode(list)
}

// EncodeFault returns a failure as JSON, nil for none.
func EncodeFault(f *mapping.Fault) ([]byte, error) {
	if f == nil {
		return nil, nil
	}
	return Encode(f)
}

// Decode reads a column written by Encode; NULL leaves v as it is.
func Decode(b []byte, v any) error {
	if len(b) == 0 {
		return nil
	}
	return json.Unmarshal(b, v)
}

// FillKeys returns base with those keys of extra that it lacks; base keeps its bytes. A key that extra has twice is
// added twice, so that its later value counts, as everywhere.
func FillKeys(base, extra json.RawMessage) (json.RawMessage, error) {
	if len(extra) == 0 {
		return Object(base), nil
	}
	base = Object(base)
	have := map[string]bool{}
	if err := rawjson.EachMember(base, func(name rawjson.Quoted, _ json.RawMessage) { have[name.Text()] = true }); err != nil {
		return nil, err
	}
	more := new(rawjson.Writer).Open('{')
	err := rawjson.EachMember(Object(extra), func(name rawjson.Quoted, value json.RawMessage) {
		if !have[name.Text()] {
			more.Spliced(name).Raw(value, "null")
		}
	})
	end := bytes.LastIndexByte(base, '}')
	if len(more.Bytes) == 1 || err != nil {
		return base[:end+1], err
	}
	if len(have) > 0 {
		return slices.Concat(base[:end], []byte{','}, more.Close('}').Bytes[1:]), nil
	}
	return more.Close('}').Bytes, nil
}

// RawOf lets a scan fill a json.RawMessage without a conversion.
func RawOf(raw *json.RawMessage) *[]byte { return (*[]byte)(raw) }
