package store

import (
	"bytes"
	"encoding/json"
	"slices"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
)

// This file is how values of the model stand in columns and come back.

// micros is a time as a column holds it: microseconds UTC, 0 for the zero time.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func timeOf(us int64) time.Time { return sqldb.TimeOf(us) }

// object is JSON as a parameter of a column that holds an object.
func object(raw json.RawMessage) []byte {
	if len(raw) == 0 || string(raw) == "null" {
		return []byte("{}")
	}
	return raw
}

// keyOrNull is a surrogate key as a parameter; 0 is NULL.
func keyOrNull(key int64) any {
	if key == 0 {
		return nil
	}
	return key
}

func number(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// encode is v as JSON without HTML escapes: what agents and clients wrote keeps
// its letters.
func encode(v any) ([]byte, error) { return rawjson.Encode(v) }

// encodeHead is nil for a head that says nothing, as that of a token does.
func encodeHead(h *mapping.Head) ([]byte, error) {
	b, err := h.AppendJSON(nil)
	if len(b) == 2 {
		return nil, err
	}
	return b, err
}

// encodeInterrupts is nil for none.
func encodeInterrupts(list []mapping.Interrupt) ([]byte, error) {
	if len(list) == 0 {
		return nil, nil
	}
	return encode(list)
}

func encodeFault(f *mapping.Fault) ([]byte, error) {
	if f == nil {
		return nil, nil
	}
	return encode(f)
}

// decode reads a column written by encode; NULL leaves v as it is.
func decode(b []byte, v any) error {
	if len(b) == 0 {
		return nil
	}
	return json.Unmarshal(b, v)
}

// fillKeys adds those keys of extra that base lacks; base keeps its bytes. A key that
// extra has twice is added twice, so that its later value counts, as everywhere.
func fillKeys(base, extra json.RawMessage) (json.RawMessage, error) {
	if len(extra) == 0 {
		return object(base), nil
	}
	base = object(base)
	have := map[string]bool{}
	if err := rawjson.EachMember(base, func(name rawjson.Quoted, _ json.RawMessage) { have[name.Text()] = true }); err != nil {
		return nil, err
	}
	more := new(rawjson.Writer).Open('{')
	err := rawjson.EachMember(object(extra), func(name rawjson.Quoted, value json.RawMessage) {
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

// rawOf lets a scan fill a json.RawMessage without a conversion.
func rawOf(raw *json.RawMessage) *[]byte { return (*[]byte)(raw) }
