package adapter

// Limit is one limit of the caller's: how much of it there is, and how much is used.
type Limit struct {
	Limit string `json:"limit"` // as the configuration calls it
	Of    string `json:"of"`    // key or tenant
	Name  string `json:"name"`  // the id of the key, or the tenant
	Most  int64  `json:"most"`
	// Seconds is the span of a rate; 0: it is no rate.
	Seconds int64 `json:"seconds,omitempty"`
	Used    int64 `json:"used"`
	Left    int64 `json:"left"`
}
