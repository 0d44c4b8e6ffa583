package face

import (
	"encoding/json"
	"net/http"

	"github.com/apbridge/apbridge/adapter"
)

// explainRun answers why a run waits. An operation of this bridge alone.
func (s *server) explainRun(w http.ResponseWriter, r *http.Request) error {
	ref, err := refOf(r)
	if err != nil {
		return err
	}
	why, err := s.svc.ExplainRun(r.Context(), ref)
	if err != nil {
		return err
	}
	if why.Reason == adapter.ReasonQuestion { // in the words of this face
		why.Message = "It has stopped to be answered: start a run with command.resume on its thread, or fetch its task's next step."
	}
	body, err := json.Marshal(why)
	if err != nil {
		return err
	}
	reply(w, http.StatusOK, body)
	return nil
}
