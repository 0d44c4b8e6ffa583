package face

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"

	"github.com/apbridge/apbridge/mapping/failpoint"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/gorilla/mux"
)

// pieceSize is the number of bytes written at a time. The server sets a new deadline for each write, so a slow client
// is not cut off unless it stops reading.
const pieceSize = 128 << 10

// jsonAnswer has a charset, which RFC 8259 does not require, because some clients, such as AutoGPT's web app, otherwise
// read JSON as Latin-1.
const jsonAnswer = "application/json; charset=utf-8"

// send responds with JSON.
func send(w http.ResponseWriter, status int, body []byte) error {
	head(w, status, int64(len(body)))
	return writePieces(w, body)
}

// head writes the head of a JSON response of size bytes.
func head(w http.ResponseWriter, status int, size int64) {
	h := w.Header()
	h.Set("Content-Type", jsonAnswer)
	h.Set("Content-Length", strconv.FormatInt(size, 10))
	w.WriteHeader(status)
}

// sendPieces is send for a body in several pieces.
func sendPieces(w http.ResponseWriter, status int, body *rawjson.Pieces) error {
	head(w, status, body.Len())
	from, piece := body.Reader(), make([]byte, min(body.Len(), pieceSize))
	for {
		n, err := from.Read(piece)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if _, err := w.Write(piece[:n]); err != nil {
			return err
		}
	}
}

func writePieces(w http.ResponseWriter, body []byte) error {
	for piece := range slices.Chunk(body, pieceSize) {
		if _, err := w.Write(piece); err != nil {
			return err
		}
	}
	return nil
}

// deliver is send for a response that must not be lost. It reports whether every byte was passed to the connection
// while the client was still there. Later events on the connection prove nothing, because many clients close it as soon
// as they have read the response. The response is not compressed, because the end of a compressed one would be sent
// later.
func deliver(w http.ResponseWriter, r *http.Request, status int, body *rawjson.Pieces) bool {
	w.Header().Set("Cache-Control", "no-transform")
	if r.Context().Err() != nil || sendPieces(w, status, body) != nil {
		return false
	}
	err := http.NewResponseController(w).Flush()
	failpoint.Hit(failpoint.StepWritten)
	return err == nil || errors.Is(err, http.ErrNotSupported)
}

// routeOf returns the template of the route, which has no ids, for logs.
func routeOf(r *http.Request) string {
	if route := mux.CurrentRoute(r); route != nil {
		if path, err := route.GetPathTemplate(); err == nil {
			return path
		}
	}
	return ""
}
