package mapping

import (
	"slices"
	"strings"
)

// LossTranscript is the loss of a run whose conversation was too long for the
// prompt of an opaque agent: the oldest messages were left out.
const LossTranscript = "transcript"

// Losses of what messages of an input hold. An opaque agent is told the address of a file
// that a message only links to; what is neither text nor a file it is not told, nor the name that
// a person goes by, nor what a message says of itself.
const (
	LossLinks    = "messages.links"
	LossParts    = "messages.parts"
	LossName     = "messages.name"
	LossMetadata = "messages.metadata"
)

// LossItems is the loss of a run whose agent is not told all items of its namespaces.
const LossItems = "memory.items"

// LossRow is what becomes of one documented request field in one direction.
type LossRow struct {
	Request string `json:"request"` // as of RequestField
	Field   string `json:"field"`
	From    string `json:"from"` // dialect of the client
	To      string `json:"to"`   // dialect of the agent
	Fate    Fate   `json:"fate"`
	Reason  string `json:"reason"`
}

// Losses returns the fields, among those sent in a kind of request, that the agent gets only
// approximately or not at all. Fields that no document names are no losses.
func Losses(documented []RequestField, request string, sent []string, agent Capabilities) []Loss {
	var out []Loss
	for _, f := range documented {
		if f.Request != request || !slices.Contains(sent, f.Name) {
			continue
		}
		if h := f.Before(agent); h.Fate != Exact {
			out = append(out, Loss{f.Name, h.Fate})
		}
	}
	return out
}

// LossHeader returns losses as the value of X-Apbridge-Lossy: "field;approximated, field;dropped".
func LossHeader(losses []Loss) string {
	parts := make([]string, len(losses))
	for i, l := range losses {
		parts[i] = l.Field + ";" + string(l.Fate)
	}
	return strings.Join(parts, ", ")
}
