package adapter

import (
	"net/http"

	"github.com/apbridge/apbridge/mapping"
)

// statuses are what both families of documents, where they say anything, call the classes of errors. 501 is in none of
// them: SDKs retry it.
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

// Status returns the HTTP status of an error's class; 500 for classes that are not known. A dialect that calls a class
// otherwise says so before it asks.
func Status(c mapping.Class) int {
	if status, ok := statuses[c]; ok {
		return status
	}
	return http.StatusInternalServerError
}
