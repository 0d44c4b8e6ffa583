package adapter

import (
	"fmt"
	"strconv"
)

// RetriesHeader asks, for one request, how often a failed run is to be tried
// again. It is an extension of ours in every dialect.
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
