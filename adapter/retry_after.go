package adapter

import (
	"math"
	"net/http"
	"strconv"

	"github.com/apbridge/apbridge/mapping"
)

// SetRetryAfter sets the header for when a refused request may be repeated (RFC 9110 section 10.2.3), if waiting helps.
// It keeps an existing header if the error does not specify a time.
func SetRetryAfter(h http.Header, e *mapping.Error) {
	switch {
	case e.Class != mapping.Limited && e.Class != mapping.Unavailable || e.Wait < 0:
	case e.Wait > 0:
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(e.Wait.Seconds()))))
	case h.Get("Retry-After") == "":
		h.Set("Retry-After", "1")
	}
}
