package threadrun

import (
	"encoding/json"
	"net/http"

	"github.com/apbridge/apbridge/mapping"
	"go.uber.org/zap"
)

// statusOf is the dialect's table of error classes (Agent Protocol 0.1.6,
// responses of the operations; LangGraph answers the same with other bodies).
// 501 is never used: SDKs retry it.
func statusOf(c mapping.Class) int {
	switch c {
	case mapping.Invalid:
		return http.StatusUnprocessableEntity
	case mapping.Malformed:
		return http.StatusBadRequest
	case mapping.NotFound:
		return http.StatusNotFound
	case mapping.Conflict:
		return http.StatusConflict
	case mapping.TooLarge:
		return http.StatusRequestEntityTooLarge
	case mapping.Unsupported:
		return http.StatusUnsupportedMediaType
	case mapping.NotAllowed:
		return http.StatusMethodNotAllowed
	case mapping.Unauthorized:
		return http.StatusUnauthorized
	case mapping.Forbidden:
		return http.StatusForbidden
	default:
		return statusOfFailure(c)
	}
}

// statusOfFailure is for what is not the client's fault.
func statusOfFailure(c mapping.Class) int {
	switch c {
	case mapping.Limited:
		return http.StatusTooManyRequests
	case mapping.Unavailable:
		return http.StatusServiceUnavailable
	case mapping.StorageFull:
		return http.StatusInsufficientStorage
	case mapping.Upstream:
		return http.StatusBadGateway
	case mapping.Timeout:
		return http.StatusGatewayTimeout
	default:
		return http.StatusInternalServerError
	}
}

// fail answers a request with an error: always {code, message, detail}. The
// cause goes to the log only.
func (s *server) fail(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil {
		return // nobody is there to read it
	}
	e := mapping.Classify(err)
	status := statusOf(e.Class)
	if status >= http.StatusInternalServerError {
		s.log.Error("request failed", zap.String("route", routeOf(r)), zap.String("code", e.Code),
			zap.String("request_id", w.Header().Get("X-Request-Id")), zap.Error(err))
	}
	if e.Class == mapping.Limited || e.Class == mapping.Unavailable {
		w.Header().Set("Retry-After", "1")
	}
	w.Header().Del("Content-Location")
	w.Header().Del("Location")
	reply(w, status, errorBody(e))
}

func errorBody(e *mapping.Error) []byte {
	detail, err := json.Marshal(e.Detail)
	if err != nil {
		detail = nil
	}
	var out enc
	out.open('{').key("code").str(e.Code).key("message").str(e.Message).key("detail").raw(detail, "null").close('}')
	return out.b
}

func reply(w http.ResponseWriter, status int, body []byte) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body)
}
