package adapter

// Limit is a limit of the caller and its current use.
type Limit struct {
	Limit string `json:"limit"` // its name in the configuration
	Of    string `json:"of"`    // key or tenant
	Name  string `json:"name"`  // the id of the key, or the tenant
	Most  int64  `json:"most"`
	// Seconds is the period of a rate. It is 0 if the limit is not a rate.
	Seconds int64 `json:"seconds,omitempty"`
	Used    int64 `json:"used"`
	Left    int64 `json:"left"`
}
