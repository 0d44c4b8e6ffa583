package request

import (
	"slices"

	"github.com/apbridge/apbridge/adapter/body"
	"github.com/apbridge/apbridge/mapping"
)

// Unasked complains about members whose name is nearly one that a getter asked for in vain, and names the others that
// none asked for in the answer's header: the documents allow further keys (RunCreate of the Agent Protocol and its kin
// do not set additionalProperties).
func (o *Fields) Unasked() {
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

// Ignore names a member that is left out in the answer's header.
func (o *Fields) Ignore(name string) {
	if o.answer != nil {
		body.Ignored(o.answer, o.path+name)
	}
}

// Names of a checkpoint that clients know from config.configurable: they name nothing here, and are no misspellings of
// those that do.
var otherNames = []string{"checkpoint_ns", "thread_ts"}

func (o *Fields) unknown(name string) {
	near := mapping.Misspelt(name, o.wanted)
	if near == "" || o.Sent(near) != nil || slices.Contains(otherNames, name) {
		body.Ignored(o.answer, o.path+name)
		return
	}
	o.Complain(name, "is no field of this request. Did you mean %s?", o.path+near)
}
