package face

import (
	"encoding/json"
	"net/http"

	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/mapping/state"
	"go.uber.org/zap"
)

// answerPiece is how much of an answer is gathered before it is sent.
const answerPiece = 64 << 10

// usualAnswer is what most answers fit into.
const usualAnswer = 1 << 10

// answer writes a JSON answer that may be long, piece by piece, so that it takes no memory of its own size. What fits
// into one piece is sent with its length.
//
// An error after the first byte cannot be told any more: see breakOff.
type answer struct {
	rawjson.Writer
	w     http.ResponseWriter
	began bool
	gone  error // the client's connection broke: the rest is not wanted
}

func newAnswer(w http.ResponseWriter) *answer {
	a := &answer{w: w, Writer: rawjson.Writer{Bytes: make([]byte, 0, usualAnswer)}}
	a.Long, a.LongFrom = func(v []byte) { _ = a.long(v) }, answerPiece // gone says why it failed
	return a
}

// spill sends what was gathered if it is enough, and returns why nothing more is wanted. It keeps the last byte, by
// which the encoder knows where commas belong.
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

// long writes a value that may be large without copying it.
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

// sendRest sends the rest.
func (a *answer) sendRest() {
	if !a.began {
		reply(a.w, http.StatusOK, a.Bytes)
	} else if a.gone == nil {
		_, _ = a.w.Write(a.Bytes)
	}
}

// breakOff returns an error that can still be told; else it is logged and the connection is cut, so that what was sent
// is not taken for the whole.
func (s *server) breakOff(a *answer, r *http.Request, err error) error {
	if !a.began {
		return err
	}
	if r.Context().Err() == nil {
		s.log.Error("response cut off", zap.String("route", routeOf(r)), zap.Error(err))
	}
	panic(http.ErrAbortHandler)
}

// values writes a state.
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
