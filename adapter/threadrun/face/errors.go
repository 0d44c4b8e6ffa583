package face

import (
	"encoding/json"
	"net/http"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/threadrun/protocol"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"go.uber.org/zap"
)

// fail responds with an error as {code, message, detail} and logs its cause.
func (s *server) fail(w http.ResponseWriter, r *http.Request, err error) {
	e := mapping.Classify(err)
	status := adapter.Status(e.Class)
	if r.Context().Err() != nil && status >= http.StatusInternalServerError {
		stopping := adapter.Stopping(r.Context())
		if stopping == nil {
			return // the client has gone; after an incomplete body, which has a lower status, the client may still be reading
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

// Refusal returns the body of an error that occurs before the request reaches the face.
func Refusal(e *mapping.Error) any { return json.RawMessage(errorBody(e)) }

// errorBody returns an ErrorResponse of the Agent Protocol, with the detail that LangGraph's clients expect.
func errorBody(e *mapping.Error) []byte {
	detail, err := json.Marshal(e.Detail)
	if err != nil {
		detail = nil
	}
	var out rawjson.Writer
	out.Open('{').Key("code").Text(e.Code).Key("message").Text(protocol.MessageOf(e)).Key("detail").Raw(detail, "null").Close('}')
	return out.Bytes
}
