package mapping

import (
	"slices"
	"strings"
)

// Found are the meanings whose losses the bridge finds itself, in whichever dialect a run is asked for: a conversation
// or items that are too long for what an agent is told, and what messages hold that it is not told.
func Found() []Meaning { return append([]Meaning{MeansTranscript, MeansItems}, FoundInMessages()...) }

// FoundInMessages are those of Found that messages of an input hold.
func FoundInMessages() []Meaning {
	return []Meaning{MeansLinks, MeansParts, MeansSpeaker, MeansRemarks}
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

// Losses returns the fields, among those sent in a kind of request, that the agent gets only approximately or not at
// all. Fields that no document names are no losses. A limit of steps is one only where a smaller one replaces it, which
// Lost is asked for.
func Losses(documented []RequestField, request string, sent []string, agent Capabilities) []Loss {
	var out []Loss
	for i := range documented {
		f := &documented[i]
		if f.Request != request || f.Meaning == MeansRecursionLimit || !slices.Contains(sent, f.Name) {
			continue
		}
		if h := f.For(agent); h.Fate != Exact {
			out = append(out, Loss{f.Name, h.Fate})
		}
	}
	return out
}

// Lost are the losses of what was meant by a kind of request, whatever its fields are called. Each has the name of the
// field that FieldFor finds.
func Lost(documented []RequestField, request string, meant []Meaning, agent Capabilities) []Loss {
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
