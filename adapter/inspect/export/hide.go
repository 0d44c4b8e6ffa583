package export

import (
	"encoding/json"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/credential"
)

// noneKnown hides the credentials of clients and agents: an export does not know those of the bridge.
var noneKnown credential.Set

// gone reports whether a call is not kept any more.
func gone(err error) bool { return mapping.Classify(err).Class == mapping.NotFound }

// hiddenHead is the head of an event without what grants access.
func hiddenHead(h *mapping.Head) (json.RawMessage, error) {
	raw, err := json.Marshal(h)
	return noneKnown.HideBytes(raw), err
}

func hiddenFault(f *mapping.Fault) *mapping.Fault {
	if f == nil {
		return nil
	}
	said := *f
	said.Name = noneKnown.Hide(said.Name)
	said.Message = noneKnown.Hide(said.Message)
	return &said
}
