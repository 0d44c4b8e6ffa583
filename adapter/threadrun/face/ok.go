package face

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/apbridge/apbridge/adapter/threadrun/face/request"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"go.uber.org/zap"
)

// okTimeout bounds the asking: a database that does not answer is one that is not there.
const okTimeout = 2 * time.Second

// getOK answers that the process is there, and with check_db whether its database is, too. Where it is not, services
// names it. The status then is the one of LangGraph Server's document, which does not say what services look like.
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

// unhealthy is the answer of a bridge whose database is away. The path needs no key: what is not meant for callers
// stays in the log.
func unhealthy(err error) []byte {
	why := "The database does not answer. The log of the bridge has the cause."
	if e := (*mapping.Error)(nil); errors.As(err, &e) && e.Class != mapping.Internal {
		why = e.Message
	}
	var e rawjson.Writer
	e.Open('{').Key("ok").Bool(false).Key("services").Open('{').Key("database").Open('{')
	e.Key("ok").Bool(false).Key("error").Text(why)
	return e.Close('}').Close('}').Close('}').Bytes
}
