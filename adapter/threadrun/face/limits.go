package face

import (
	"encoding/json"
	"net/http"

	"github.com/apbridge/apbridge/adapter"
)

// limits tells the caller what bounds it, and how much of that is left.
func (s about) limits(w http.ResponseWriter, r *http.Request) error {
	answer := struct {
		Limits []adapter.Limit `json:"limits"`
	}{[]adapter.Limit{}}
	if s.svc.Limits != nil {
		var err error
		if answer.Limits, err = s.svc.Limits.Limits(r.Context()); err != nil {
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
