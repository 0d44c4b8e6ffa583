package face

import (
	_ "embed"
	"encoding/json"
	"net/http"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping/rawjson"
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

// compatibility is what stock clients were seen to do in front of this version, as a JSON list; `make compatibility`
// writes it beside docs/compatibility.md.
//
//go:embed compatibility.json
var compatibility []byte

// getLimits tells the caller what bounds it, and how much of that is left.
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
	body, err := json.Marshal(answer)
	if err != nil {
		return err
	}
	reply(w, http.StatusOK, body)
	return nil
}
