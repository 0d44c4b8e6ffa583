package mapping

import (
	"slices"
	"strings"
)

// DetectedByBridge returns the capabilities whose losses the bridge detects itself, in requests of every dialect: a
// conversation or items that are too long for the agent, and parts of messages that do not reach the agent.
func DetectedByBridge() []Capability {
	return append([]Capability{CapTranscript, CapItems}, DetectedInMessages()...)
}

// DetectedInMessages returns the capabilities of DetectedByBridge that concern messages in an input.
func DetectedInMessages() []Capability {
	return []Capability{CapLinks, CapParts, CapSpeaker, CapRemarks}
}

// LossRow is the support for one documented request field in one direction.
type LossRow struct {
	Request string `json:"request"` // as of RequestField
	Field   string `json:"field"`
	From    string `json:"from"` // dialect of the client
	To      string `json:"to"`   // dialect of the agent
	Fate    Fate   `json:"fate"`
	Reason  string `json:"reason"`
}

// UnsupportedFields returns the fields in sent that reach the agent only approximately or not at all, for a kind of
// request. Undocumented fields are not losses. A recursion limit is a loss only if a smaller limit replaces it, which
// UnsupportedCapabilities reports.
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

// UnsupportedCapabilities returns the losses of a kind of request by capability. Each is named after the field that
// FieldFor returns.
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

// LossHeader returns losses as the value of X-Apbridge-Unsupported: "field;approximated, field;dropped". It names each
// loss once.
func LossHeader(losses []Loss) string {
	var parts []string
	for _, l := range losses {
		if part := l.Field + ";" + string(l.Fate); !slices.Contains(parts, part) {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, ", ")
}
