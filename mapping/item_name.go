package mapping

// ItemName names an item of the long-term store.
type ItemName struct {
	Namespace []string `json:"namespace"`
	Key       string   `json:"key"`
}
