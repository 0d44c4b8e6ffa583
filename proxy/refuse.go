package proxy

import (
	"encoding/json"
	"net/http"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/metrics"
	"go.uber.org/zap"
)

// Face is a dialect's part in the guards: its paths, those of them that need no key, and the bodies of its refusals.
type Face struct {
	Name string
	Owns func(path string) bool
	Open func(path string) bool     // reports which of its paths need no key; nil means none
	Body func(e *mapping.Error) any // encoded as JSON
}

// plain is used for paths that belong to no dialect.
var plain = Face{Name: "none", Body: PlainBody}

// PlainBody returns the body of a refusal outside all dialects.
func PlainBody(e *mapping.Error) any {
	return struct {
		Code    string `json:"code"`
		Message string `json:"message"`
		Detail  any    `json:"detail"`
	}{e.Code, e.Message, e.Detail}
}

// refuser responds to requests that a guard refuses. Safe for concurrent use.
type refuser struct {
	faces   []Face
	log     *zap.Logger
	metrics *metrics.Metrics
}

func (f refuser) faceOf(path string) Face {
	for _, face := range f.faces {
		if face.Owns(path) {
			return face
		}
	}
	return plain
}

// open reports whether a path needs no key.
func (f refuser) open(path string) bool {
	if probes[path] {
		return true
	}
	face := f.faceOf(path) // a dialect cannot open a path that belongs to another
	return face.Open != nil && face.Open(path)
}

// Refuse implements guard.Refuser, for guards in other packages.
func (f refuser) Refuse(w http.ResponseWriter, r *http.Request, err error) { f.refuse(w, r, err) }

// refuse responds in the form of the dialect that owns the path.
func (f refuser) refuse(w http.ResponseWriter, r *http.Request, err error) {
	e := mapping.Classify(err)
	status := adapter.Status(e.Class)
	if e.Class == mapping.Unauthorized && w.Header().Get("WWW-Authenticate") == "" {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	if ce := f.log.Check(zap.DebugLevel, "request refused"); ce != nil {
		ce.Write(zap.String("request_id", w.Header().Get(headerRequestID)), zap.String("code", e.Code), zap.Int("status", status))
	}
	if rec := tapOf(r.Context()); rec != nil {
		rec.cause = e.Code
	}
	adapter.SetRetryAfter(w.Header(), e)
	face := f.faceOf(r.URL.Path)
	f.metrics.Failed(face.Name, e.Code)
	writeJSON(w, status, face.Body(e))
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	b, err := json.Marshal(body)
	if err != nil {
		status, b = http.StatusInternalServerError, []byte(`{"code":"internal_error","message":"The response could not be encoded."}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(b, '\n')) // the client may be gone
}
