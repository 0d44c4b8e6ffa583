package embedding

import "time"

// SetClock replaces the clock for the rest of queries.
func (c *Client) SetClock(now func() time.Time) { c.now = now }

// Rest is the time for which no queries are sent after a failure.
const Rest = rest
