package request

import (
	"slices"

	"github.com/apbridge/apbridge/adapter/body"
	"github.com/apbridge/apbridge/mapping"
)

// CheckUnknown refuses members whose names are misspellings of names that a getter requested. It adds the names
// of other members that were not requested to the response header, because the documents allow further keys (RunCreate
// of the Agent Protocol and similar schemas do not set additionalProperties).
func (o *Fields) CheckUnknown() {
	if o.answer == nil {
		return
	}
	for i := range o.members {
		if i < len(o.asked) && o.asked[i] {
			continue
		}
		o.ask(i)
		o.unknown(o.members[i].Name)
	}
}

// Ignore adds the name of an ignored member to the response header.
func (o *Fields) Ignore(name string) {
	if o.answer != nil {
		body.Ignored(o.answer, o.path+name)
	}
}

// otherNames are members of config.configurable that clients also send elsewhere. They are ignored and must not be
// treated as misspellings.
var otherNames = []string{"checkpoint_ns", "thread_ts"}

func (o *Fields) unknown(name string) {
	near := mapping.Misspelt(name, o.wanted)
	if near == "" || o.Sent(near) != nil || slices.Contains(otherNames, name) {
		body.Ignored(o.answer, o.path+name)
		return
	}
	o.Refuse(name, "is not a field of this request. Did you mean %s?", o.path+near)
}
