package pause

import (
	"strconv"
	"strings"
	"time"
)

// httpDates are the formats of a date in HTTP (RFC 9110, section 5.6.7): the one to write, and two to read.
var httpDates = []string{"Mon, 02 Jan 2006 15:04:05 GMT", time.RFC850, time.ANSIC}

// longest prevents an overflow of the duration.
const longest = 1 << 30

// RetryAfter returns the time in a Retry-After header, which has seconds or a date (RFC 9110, section 10.2.3). It
// returns 0 if the value is unreadable or in the past.
func RetryAfter(value string) time.Duration {
	value = strings.TrimSpace(value)
	if n, err := strconv.Atoi(value); err == nil {
		return time.Duration(min(max(n, 0), longest)) * time.Second
	}
	for _, form := range httpDates {
		if at, err := time.Parse(form, value); err == nil {
			return max(time.Until(at), 0)
		}
	}
	return 0
}
