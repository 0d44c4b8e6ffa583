// Package complaint keeps the log readable where something fails again and again.
package complaint

import "time"

const (
	first = 10 * time.Second
	most  = time.Hour
)

// Complaint is said once and then at growing intervals, from ten seconds to an hour. The zero
// value is ready. Used by one goroutine.
type Complaint struct {
	next time.Time
	wait time.Duration
}

// Due reports whether to say it now; it is called at each failure.
func (c *Complaint) Due() bool {
	now := time.Now()
	if now.Before(c.next) {
		return false
	}
	c.wait = min(max(2*c.wait, first), most)
	c.next = now.Add(c.wait)
	return true
}

// Over has the next failure said at once: something worked.
func (c *Complaint) Over() { *c = Complaint{} }
