package itemquery

import (
	"encoding/json"
	"iter"

	"github.com/apbridge/apbridge/mapping/rawjson"
)

// ItemTexts returns the texts of an item's value for a text search: all strings and numbers in it, or, if index is a
// list of paths (ItemPath), those below the paths. If index is false, there are none. They are read one by one, so a
// value of many tiny elements needs no more memory than any other.
func ItemTexts(value, index json.RawMessage) iter.Seq[string] {
	return func(yield func(string) bool) {
		of := indexOf(index)
		if of.standard {
			eachText(value, yield)
		}
		for _, path := range of.paths {
			if !path.each(value, func(at json.RawMessage) bool { return eachText(at, yield) }) {
				return
			}
		}
	}
}

// eachText yields the strings and numbers in a value, and reports whether more are wanted.
func eachText(value json.RawMessage, yield func(string) bool) (more bool) {
	t := textScan{yield, true}
	t.value(value, rawjson.SkipSpace(value, 0))
	return t.more
}

// textScan reads each byte of a value once, at any depth. It stops when no more texts are wanted.
type textScan struct {
	yield func(string) bool
	more  bool
}

func (t *textScan) value(b []byte, i int) (end int, ok bool) {
	switch rawjson.Kind(b[i:]) {
	case '{':
		return rawjson.ScanObject(b, i, func(b []byte, i int, _ rawjson.Quoted) (int, bool) { return t.value(b, i) })
	case '[':
		return rawjson.ScanArray(b, i, t.value)
	}
	if end, ok = rawjson.Scan(b, i); !ok {
		return end, false
	}
	if text := rawjson.ScalarText(b[i:end:end]); text != "" {
		t.more = t.yield(text)
	}
	return end, t.more
}
