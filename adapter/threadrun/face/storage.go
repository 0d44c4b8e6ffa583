package face

import (
	"encoding/json"
	"net/http"
)

// getThreadStorage answers what a thread takes of the database. An operation of this bridge alone.
func (s *server) getThreadStorage(w http.ResponseWriter, r *http.Request) error {
	id, err := threadOf(r)
	if err != nil {
		return err
	}
	use, err := s.svc.ThreadStorage(r.Context(), id)
	if err != nil {
		return err
	}
	body, err := json.Marshal(use)
	if err != nil {
		return err
	}
	reply(w, http.StatusOK, body)
	return nil
}
