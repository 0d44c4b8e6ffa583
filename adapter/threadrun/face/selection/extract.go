package selection

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/apbridge/apbridge/adapter/threadrun/face/request"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

// The extract option of a thread search maps a name to the path of a requested value, as in {"last":
// "values.messages[-1].content"}. Source: ThreadsClient.search of the LangGraph SDKs.

// extractMost is the maximum number of requested values, as in LangGraph's server.
const extractMost = 10

// Extract is one requested value. steps are names (string) and list indices (int, from the end if negative).
type Extract struct {
	alias string
	steps []any
}

// ReadExtract reads the option. Paths must begin with one of keys.
func ReadExtract(o *request.Fields, keys []string) (list []Extract) {
	in := o.Sub("extract")
	if in == nil {
		return nil
	}
	if len(in.Members()) > extractMost {
		o.Refuse("extract", "may name at most %d values", extractMost)
		return nil
	}
	for _, m := range in.Members() {
		steps, ok := pathSteps(in.Text(m.Name), keys)
		if !ok {
			in.Refuse(m.Name, "must be a path like values.messages[-1].content, beginning with one of %s", strings.Join(keys, ", "))
		}
		list = append(list, Extract{m.Name, steps})
	}
	return list
}

// pathSteps parses a path: names separated by dots, each with any number of [indices].
func pathSteps(path string, keys []string) (steps []any, ok bool) {
	for part := range strings.SplitSeq(path, ".") {
		name, places, _ := strings.Cut(part, "[")
		if name == "" {
			return nil, false
		}
		steps = append(steps, name)
		if len(name) == len(part) {
			continue
		}
		for place := range strings.SplitSeq(places, "[") {
			digits, closed := strings.CutSuffix(place, "]")
			n, err := strconv.Atoi(digits)
			if !closed || err != nil {
				return nil, false
			}
			steps = append(steps, n)
		}
	}
	return steps, slices.Contains(keys, steps[0].(string))
}

// find returns the value in an object, or nil if it is missing.
func (x Extract) find(value json.RawMessage) json.RawMessage {
	for _, step := range x.steps {
		switch at := step.(type) {
		case string:
			value = rawjson.Get(value, at)
		case int:
			value = elementOf(value, at)
		}
	}
	return value
}

func elementOf(list json.RawMessage, at int) json.RawMessage {
	if rawjson.Kind(list) != '[' {
		return nil
	}
	elements := rawjson.ElementsOf(list)
	if at < 0 {
		at += len(elements)
	}
	if at < 0 || at >= len(elements) {
		return nil
	}
	return elements[at]
}

// WithValues reports whether the value is part of the thread's state.
func (x Extract) WithValues() bool { return x.Within("values") || x.Within("messages") }

// Within reports whether the value is part of a member of the thread.
func (x Extract) Within(member string) bool { return x.steps[0] == member }

// WriteExtracted writes an object with the requested values of an encoded thread.
func WriteExtracted(e *rawjson.Writer, thread []byte, wanted []Extract) {
	e.Open('{')
	for _, x := range wanted {
		e.Name(x.alias).Raw(x.find(thread), "null")
	}
	e.Close('}')
}
