package embedding

import "time"

// SetClock lets a test move the time that queries rest by.
func (c *Client) SetClock(now func() time.Time) { c.now = now }

// Rest is how long queries rest after a failure.
const Rest = rest
