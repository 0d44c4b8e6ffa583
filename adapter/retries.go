package adapter

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"
)

// RetriesHeader specifies for one request how often a failed run is retried. It is our extension in every dialect.
const RetriesHeader = "X-Apbridge-Retries"

const maxRetries = 100

// Retries parses the values of RetriesHeader. said is false if there are none.
func Retries(values []string) (n int, said bool, err error) {
	if len(values) == 0 || len(values) == 1 && values[0] == "" {
		return 0, false, nil
	}
	n, err = strconv.Atoi(values[0])
	if err != nil || len(values) > 1 || n < 0 || n > maxRetries {
		return 0, false, fmt.Errorf("%s must be one whole number from 0 to %d", RetriesHeader, maxRetries)
	}
	return n, true, nil
}

// Jitter returns the pause before a retry: d plus a random part of up to half of it. Runs that an agent refused at the
// same time are thus retried at different times, and never before d.
func Jitter(d time.Duration) time.Duration {
	if d <= 0 {
		return 0
	}
	return d + rand.N(d/2+1)
}
