package adapter

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"
)

// RetriesHeader asks, for one request, how often a failed run is to be tried again. It is an extension of ours in every
// dialect.
const RetriesHeader = "X-Apbridge-Retries"

const maxRetries = 100

// Retries reads the values of RetriesHeader; said is false when there are none.
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

// Jitter returns a pause before something is tried again: d, and up to half of it more by chance. Runs that an agent
// refused in the same moment do not come back in the same moment, and none comes back before d.
func Jitter(d time.Duration) time.Duration {
	if d <= 0 {
		return 0
	}
	return d + rand.N(d/2+1)
}
