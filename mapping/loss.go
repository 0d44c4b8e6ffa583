package mapping

// Loss is one field of a request that an agent's dialect cannot carry exactly.
type Loss struct {
	Field string `json:"field"`
	Fate  Fate   `json:"fate"`
}

// Fate of a field on its way through the bridge.
type Fate string

const (
	Exact        Fate = "exact"
	Approximated Fate = "approximated"
	Dropped      Fate = "dropped"
)

// LossHeader renders losses for X-Apbridge-Lossy: "field;approximated, field;dropped".
func LossHeader(losses []Loss) string { panic("stub") }
