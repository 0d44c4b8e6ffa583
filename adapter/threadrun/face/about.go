package face

import (
	"context"
	_ "embed"
	"errors"
	"net/http"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/threadrun/face/request"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"go.uber.org/zap"
)

func (s *server) getInfo(w http.ResponseWriter, _ *http.Request) error {
	var e rawjson.Writer
	e.Open('{').Key("version").Text(s.face.Version).Key("flags").Open('{')
	e.Key("assistants").Bool(true).Key("crons").Bool(true).Key("langsmith").Bool(false)
	e.Key("stream_namespaces").Bool(true)
	e.Close('}').Key("compatibility").Raw(compatibility, "[]").Close('}')
	reply(w, http.StatusOK, e.Bytes)
	return nil
}

// compatibility is a JSON list of the features for which stock clients were tested with this version. `make
// compatibility` writes it and docs/compatibility.md.
//
//go:embed compatibility.json
var compatibility []byte

// getLimits responds with the caller's limits and the remaining amounts.
func (s *server) getLimits(w http.ResponseWriter, r *http.Request) error {
	answer := struct {
		Limits []adapter.Limit `json:"limits"`
	}{[]adapter.Limit{}}
	if s.face.CallerLimits != nil {
		var err error
		if answer.Limits, err = s.face.CallerLimits(r.Context()); err != nil {
			return err
		}
	}
	return replyJSON(w, answer)
}

// okTimeout is the maximum time for the database to respond.
const okTimeout = 2 * time.Second

// getOK responds if the process is running. With check_db it also checks the database. If that fails, the response has
// the status in LangGraph Server's API document, and services names the database. The document does not define
// services.
func (s *server) getOK(w http.ResponseWriter, r *http.Request) error {
	q := request.QueryOf(r)
	check := q.Flag("check_db")
	if err := q.Err(); err != nil {
		return err
	}
	if check {
		if err := s.ready(r.Context()); err != nil {
			s.log.Warn("not ready", zap.Error(err))
			reply(w, http.StatusInternalServerError, unhealthy(err))
			return nil
		}
	}
	reply(w, http.StatusOK, []byte(`{"ok":true}`))
	return nil
}

func (s *server) ready(ctx context.Context) error {
	if s.face.Ready == nil {
		return nil
	}
	ctx, stop := context.WithTimeout(ctx, okTimeout)
	defer stop()
	return s.face.Ready(ctx)
}

// unhealthy returns the response if the database is unavailable. The path needs no key, so details are only logged.
func unhealthy(err error) []byte {
	why := "The database does not respond. See the bridge's log for the cause."
	if e := (*mapping.Error)(nil); errors.As(err, &e) && e.Class != mapping.Internal {
		why = e.Message
	}
	var e rawjson.Writer
	e.Open('{').Key("ok").Bool(false).Key("services").Open('{').Key("database").Open('{')
	e.Key("ok").Bool(false).Key("error").Text(why)
	return e.Close('}').Close('}').Close('}').Bytes
}
