package mapping

import (
	"fmt"
	"time"
)

// Span formats a duration for display.
func Span(d time.Duration) string {
	switch d = max(d, 0); {
	case d > 0 && d < time.Millisecond:
		return "under 1 ms"
	case d.Round(time.Millisecond) < time.Second:
		return fmt.Sprintf("%d ms", d.Round(time.Millisecond).Milliseconds())
	case d.Round(time.Second/10) < time.Minute:
		return fmt.Sprintf("%.1f s", d.Round(time.Second/10).Seconds())
	case d.Round(time.Second) < time.Hour:
		d = d.Round(time.Second)
		return fmt.Sprintf("%d min %d s", d/time.Minute, d%time.Minute/time.Second)
	}
	d = d.Round(time.Minute)
	return fmt.Sprintf("%d h %d min", d/time.Hour, d%time.Hour/time.Minute)
}
