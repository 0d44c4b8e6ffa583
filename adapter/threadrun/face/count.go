package face

import (
	"context"
	"net/http"

	"github.com/apbridge/apbridge/adapter/threadrun/face/request"
)

// count answers how many there are of what a request's filters, which read takes from its body, ask for.
func count[Q any](s *server, w http.ResponseWriter, r *http.Request, read func(*request.Fields) Q, of func(context.Context, Q) (int, error)) error {
	o, err := s.request(w, r, false)
	if err != nil {
		return err
	}
	q := read(o)
	if err := o.Err(); err != nil {
		return err
	}
	n, err := of(r.Context(), q)
	if err != nil {
		return err
	}
	replyNumber(w, n)
	return nil
}
