package embedding

import "time"

// SetClock replaces the clock for the rest of queries.
func (c *Client) SetClock(now func() time.Time) { c.now = now }

// Rest is how long queries rest after a failure.
const Rest = rest
