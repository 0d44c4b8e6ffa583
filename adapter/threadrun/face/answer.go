package face

import (
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/apbridge/apbridge/adapter/threadrun/face/request"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/mapping/state"
	"go.uber.org/zap"
)

// answerPiece is the number of bytes that are buffered before the response is sent.
const answerPiece = 64 << 10

// usualAnswer is the initial capacity of the buffer, in which most responses fit.
const usualAnswer = 1 << 10

// answer writes a JSON response in pieces, so that a long response needs little memory. A response that fits into one
// piece gets a Content-Length.
//
// An error after the first byte cannot be reported to the client; see breakOff.
type answer struct {
	rawjson.Writer
	w     http.ResponseWriter
	began bool
	gone  error // error of the client's connection; nothing more is sent
}

func newAnswer(w http.ResponseWriter) *answer {
	a := &answer{w: w, Writer: rawjson.Writer{Bytes: make([]byte, 0, usualAnswer)}}
	a.Long, a.LongFrom = func(v []byte) { _ = a.long(v) }, answerPiece // the error is kept in a.gone
	return a
}

// spill sends the buffer if it is full. It returns an error if the client is gone. The last byte stays in the buffer,
// because the writer derives commas from it.
func (a *answer) spill() error {
	if n := len(a.Bytes); n > answerPiece && a.gone == nil {
		if !a.began {
			a.began = true
			a.w.Header().Set("Content-Type", "application/json")
			a.w.WriteHeader(http.StatusOK)
		}
		_, a.gone = a.w.Write(a.Bytes[:n-1])
		a.Bytes = append(a.Bytes[:0], a.Bytes[n-1])
	}
	return a.gone
}

// long writes a large value without copying it as a whole.
func (a *answer) long(v []byte) error {
	if len(v) <= answerPiece {
		a.Bytes = append(a.Bytes, v...)
		return a.spill()
	}
	for len(v) > 0 && a.gone == nil {
		n := min(len(v), answerPiece+1)
		a.Bytes, v = append(a.Bytes, v[:n]...), v[n:]
		a.gone = a.spill()
	}
	return a.gone
}

func (a *answer) sendRest() {
	if !a.began {
		reply(a.w, http.StatusOK, a.Bytes)
	} else if a.gone == nil {
		_, _ = a.w.Write(a.Bytes)
	}
}

// breakOff returns err if the response has not begun. Otherwise it logs err and closes the connection, so that the
// client does not mistake the partial response for a complete one.
func (s *server) breakOff(a *answer, r *http.Request, err error) error {
	if !a.began {
		return err
	}
	if r.Context().Err() == nil {
		s.log.Error("response interrupted", zap.String("route", routeOf(r)), zap.Error(err))
	}
	panic(http.ErrAbortHandler)
}

func (a *answer) values(f *state.Fold) error {
	a.Separate()
	for piece := range f.Pieces() {
		if err := a.long(piece); err != nil {
			return err
		}
	}
	return nil
}

// protocolMessages writes messages in the form of the Agent Protocol.
func (a *answer) protocolMessages(list []json.RawMessage) error {
	a.Key("messages").Open('[')
	for _, m := range list {
		rule.WriteRoleMessage(&a.Writer, m)
		if err := a.spill(); err != nil {
			return err
		}
	}
	a.Close(']')
	return nil
}

func reply(w http.ResponseWriter, status int, body []byte) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// replyJSON responds with v as encoding/json writes it.
func replyJSON(w http.ResponseWriter, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	reply(w, http.StatusOK, body)
	return nil
}

// paginate sets the headers with the total and the offset of the next page.
func paginate(w http.ResponseWriter, p request.Page, n, total int) {
	w.Header().Set("X-Pagination-Total", strconv.Itoa(total))
	if next := p.Offset + n; n > 0 && next < total {
		w.Header().Set("X-Pagination-Next", strconv.Itoa(next))
	}
}

func noContent(w http.ResponseWriter) { w.WriteHeader(http.StatusNoContent) }
