package adapter

import (
	"math"
	"net/http"
	"strconv"

	"github.com/apbridge/apbridge/mapping"
)

// SetRetryAfter sets the header that says when a refused request may be sent again (RFC 9110 section 10.2.3), where
// time helps. A header that is there already stays where the error does not say how long.
func SetRetryAfter(h http.Header, e *mapping.Error) {
	switch {
	case e.Class != mapping.Limited && e.Class != mapping.Unavailable || e.Wait < 0:
	case e.Wait > 0:
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(e.Wait.Seconds()))))
	case h.Get("Retry-After") == "":
		h.Set("Retry-After", "1")
	}
}
