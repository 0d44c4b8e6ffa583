package face

import (
	"encoding/json"
	"net/http"
)

// explain answers why a run waits. An operation of this bridge alone.
func (s runs) explain(w http.ResponseWriter, r *http.Request) error {
	ref, err := refOf(r)
	if err != nil {
		return err
	}
	why, err := s.svc.Explainer.Explain(r.Context(), ref)
	if err != nil {
		return err
	}
	body, err := json.Marshal(why)
	if err != nil {
		return err
	}
	reply(w, http.StatusOK, body)
	return nil
}
