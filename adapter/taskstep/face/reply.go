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

// pieceSize is how much of a long answer is written at a time: each write gets a deadline of its own from the server
// around us, so that a slow client is not cut off, only one that takes nothing.
const pieceSize = 128 << 10

// jsonAnswer names the charset, which RFC 8259 does not need: AutoGPT's web app is one of the clients that take JSON
// without it for Latin-1.
const jsonAnswer = "application/json; charset=utf-8"

// send writes a whole JSON answer.
func send(w http.ResponseWriter, status int, body []byte) error {
	head(w, status, int64(len(body)))
	return writePieces(w, body)
}

// head begins a JSON answer of so many bytes.
func head(w http.ResponseWriter, status int, size int64) {
	h := w.Header()
	h.Set("Content-Type", jsonAnswer)
	h.Set("Content-Length", strconv.FormatInt(size, 10))
	w.WriteHeader(status)
}

// sendPieces is send for an answer that is not joined.
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

// deliver is send for an answer that must not be lost: it reports whether every byte was handed to the connection of a
// client that was still there when the answer was ready. What happens to the connection afterwards proves nothing: many
// clients close it as soon as they have read the answer. It is not to be transformed on its way: the end of a
// compressed answer would leave later.
func deliver(w http.ResponseWriter, r *http.Request, status int, body *rawjson.Pieces) bool {
	w.Header().Set("Cache-Control", "no-transform")
	if r.Context().Err() != nil || sendPieces(w, status, body) != nil {
		return false
	}
	err := http.NewResponseController(w).Flush()
	failpoint.Hit(failpoint.StepWritten)
	return err == nil || errors.Is(err, http.ErrNotSupported)
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
