package engine

import "time"

const (
	complainFirst = 10 * time.Second
	complainMost  = time.Hour
)

// complaint is something that fails again and again, and is said once and then at growing intervals. Used by one
// goroutine.
type complaint struct {
	next time.Time
	wait time.Duration
}

// due tells whether to say it now; it is called at each failure.
func (c *complaint) due() bool {
	now := time.Now()
	if now.Before(c.next) {
		return false
	}
	c.wait = min(max(2*c.wait, complainFirst), complainMost)
	c.next = now.Add(c.wait)
	return true
}

// over has the next failure said at once: something worked.
func (c *complaint) over() { *c = complaint{} }
