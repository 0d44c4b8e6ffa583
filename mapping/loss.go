package mapping

import (
	"slices"
	"strings"
)

// DetectedByBridge are the capabilities whose losses the bridge finds itself, in whichever dialect a run is asked for:
// a conversation or items that are too long for what an agent is told, and what messages hold that it is not told.
func DetectedByBridge() []Capability {
	return append([]Capability{CapTranscript, CapItems}, DetectedInMessages()...)
}

// DetectedInMessages are those of DetectedByBridge that messages of an input hold.
func DetectedInMessages() []Capability {
	return []Capability{CapLinks, CapParts, CapSpeaker, CapRemarks}
}

// LossRow is what becomes of one documented request field in one direction.
type LossRow struct {
	Request string `json:"request"` // as of RequestField
	Field   string `json:"field"`
	From    string `json:"from"` // dialect of the client
	To      string `json:"to"`   // dialect of the agent
	Fate    Fate   `json:"fate"`
	Reason  string `json:"reason"`
}

// UnsupportedFields returns the fields, among those sent in a kind of request, that the agent gets only approximately
// or not at all. Fields that no document names are no losses. A limit of steps is one only where a smaller one replaces
// it, which UnsupportedCapabilities finds.
func UnsupportedFields(documented []RequestField, request string, sent []string, agent Capabilities) []Loss {
	var out []Loss
	for i := range documented {
		f := &documented[i]
		if f.Request != request || f.Capability == CapRecursionLimit || !slices.Contains(sent, f.Name) {
			continue
		}
		if h := f.For(agent); h.Fate != Exact {
			out = append(out, Loss{f.Name, h.Fate})
		}
	}
	return out
}

// UnsupportedCapabilities returns the losses of a kind of request by its capabilities, whatever its fields are called.
// Each has the name of the field that FieldFor finds.
func UnsupportedCapabilities(documented []RequestField, request string, meant []Capability, agent Capabilities) []Loss {
	var out []Loss
	for _, m := range meant {
		f := FieldFor(documented, request, m)
		if h := f.For(agent); h.Fate != Exact {
			out = append(out, Loss{f.Name, h.Fate})
		}
	}
	return out
}

// LossHeader returns losses as the value of X-Apbridge-Unsupported: "field;approximated, field;dropped".
func LossHeader(losses []Loss) string {
	parts := make([]string, len(losses))
	for i, l := range losses {
		parts[i] = l.Field + ";" + string(l.Fate)
	}
	return strings.Join(parts, ", ")
}
