package face

import (
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/threadrun/protocol"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"go.uber.org/zap"
)

// fail answers a request with an error: always {code, message, detail}. The cause goes to the log only.
func (s *server) fail(w http.ResponseWriter, r *http.Request, err error) {
	e := mapping.Classify(err)
	status := adapter.Status(e.Class)
	if r.Context().Err() != nil && status >= http.StatusInternalServerError {
		stopping := adapter.Stopping(r.Context())
		if stopping == nil {
			return // the client left, which is why it failed; a body that broke off is the client's fault, and it may still read
		}
		e = mapping.Classify(stopping)
		status = adapter.Status(e.Class)
	}
	s.face.CountFailed(e)
	if status >= http.StatusInternalServerError {
		s.face.LogFailed(s.log, e, zap.String("route", routeOf(r)), zap.String("code", e.Code),
			zap.String("request_id", w.Header().Get("X-Request-Id")), zap.Error(err))
	}
	adapter.SetRetryAfter(w.Header(), e)
	w.Header().Del("Content-Location")
	w.Header().Del("Location")
	reply(w, status, errorBody(e))
}

// Refusal returns an error's body for what is refused before the face.
func Refusal(e *mapping.Error) any { return json.RawMessage(errorBody(e)) }

// errorBody is the Agent Protocol's ErrorResponse, with the detail that LangGraph's clients look for.
func errorBody(e *mapping.Error) []byte {
	detail, err := json.Marshal(e.Detail)
	if err != nil {
		detail = nil
	}
	var out rawjson.Writer
	out.Open('{').Key("code").Text(e.Code).Key("message").Text(protocol.MessageOf(e)).Key("detail").Raw(detail, "null").Close('}')
	return out.Bytes
}

func reply(w http.ResponseWriter, status int, body []byte) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body)
}
