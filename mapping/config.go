package mapping

import "encoding/json"

// MergeConfig is base, the config of an assistant, with what a request for a run
// says over it: member by member, those of configurable one by one; null says
// nothing. Either may be nil or null; the result is nil when both are.
func MergeConfig(base, over json.RawMessage) (json.RawMessage, error) {
	return mergeOver(base, over, "configurable")
}

// MergeContext is the same for context, which has no parts of its own.
func MergeContext(base, over json.RawMessage) (json.RawMessage, error) {
	return mergeOver(base, over, "")
}

// mergeOver puts the members of over into base; the one called deep is merged
// itself, where both have it.
func mergeOver(base, over json.RawMessage, deep string) (json.RawMessage, error) {
	if isNull(base) && isNull(over) {
		return nil, nil
	}
	var o members
	var failed error
	put := func(m member) {
		if isNull(m.val) {
			return
		}
		if was := o.get(m.key); m.key == deep && was != nil {
			if m.val, failed = MergeMetadata(was, m.val); failed != nil {
				return
			}
		}
		o.put(m)
	}
	for _, from := range [...]json.RawMessage{base, over} {
		if isNull(from) {
			continue
		}
		if err := eachMember(from, put); err != nil || failed != nil {
			return nil, invalid("config, its configurable and context must be objects")
		}
	}
	return joinObject(o.list), nil
}
