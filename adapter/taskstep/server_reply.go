package taskstep

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/gorilla/mux"
)

const (
	// writeTimeout is how long a client may take nothing of an answer.
	writeTimeout = 30 * time.Second
	// smallBody fits into the buffers of any connection: writing it cannot
	// hang, so no deadline is needed.
	smallBody = 64 << 10
)

// send writes a whole JSON answer.
func send(w http.ResponseWriter, status int, body []byte) error {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	if len(body) > smallBody {
		rc := http.NewResponseController(w)
		_ = rc.SetWriteDeadline(time.Now().Add(writeTimeout))
		defer func() { _ = rc.SetWriteDeadline(time.Time{}) }()
	}
	w.WriteHeader(status)
	_, err := w.Write(body)
	return err
}

// deliver is send for an answer that must not be lost: it tells whether every
// byte was handed to the connection while the client was still there.
func deliver(w http.ResponseWriter, r *http.Request, status int, body []byte) bool {
	if send(w, status, body) != nil {
		return false
	}
	err := http.NewResponseController(w).Flush()
	if err != nil && !errors.Is(err, http.ErrNotSupported) {
		return false
	}
	return r.Context().Err() == nil
}

// routeOf is the template of the route, which unlike the path holds no ids.
func routeOf(r *http.Request) string {
	if route := mux.CurrentRoute(r); route != nil {
		if path, err := route.GetPathTemplate(); err == nil {
			return path
		}
	}
	return ""
}
