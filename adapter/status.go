package adapter

import (
	"net/http"

	"github.com/apbridge/apbridge/mapping"
)

// statuses maps the classes of errors to the statuses that the documents of both families define, as far as they do.
// 501 is not used because SDKs retry it.
var statuses = map[mapping.Class]int{
	mapping.Invalid:      http.StatusUnprocessableEntity,
	mapping.Malformed:    http.StatusBadRequest,
	mapping.NotFound:     http.StatusNotFound,
	mapping.Conflict:     http.StatusConflict,
	mapping.TooLarge:     http.StatusRequestEntityTooLarge,
	mapping.TooSlow:      http.StatusRequestTimeout,
	mapping.Unsupported:  http.StatusUnsupportedMediaType,
	mapping.OutOfRange:   http.StatusRequestedRangeNotSatisfiable,
	mapping.NotAllowed:   http.StatusMethodNotAllowed,
	mapping.Unauthorized: http.StatusUnauthorized,
	mapping.Forbidden:    http.StatusForbidden,
	mapping.Limited:      http.StatusTooManyRequests,
	mapping.Unavailable:  http.StatusServiceUnavailable,
	mapping.StorageFull:  http.StatusInsufficientStorage,
	mapping.Upstream:     http.StatusBadGateway,
	mapping.Timeout:      http.StatusGatewayTimeout,
}

// Status returns the HTTP status for a class of errors, or 500 for an unknown class. A dialect with another status for
// a class handles it before it calls Status.
func Status(c mapping.Class) int {
	if status, ok := statuses[c]; ok {
		return status
	}
	return http.StatusInternalServerError
}
