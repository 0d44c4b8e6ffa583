package face

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/gorilla/mux"
)

// /ok names the unavailable service and contains no details that are only for the log.
func TestOKNamesWhatIsAway(t *testing.T) {
	t.Parallel()
	away := mapping.Errorf(mapping.Unavailable, "database_away", "The database does not answer.")
	for _, c := range []struct {
		query  string
		err    error
		status int
		body   string
	}{
		{"", away, 200, `{"ok":true}`},
		{"?check_db=0", away, 200, `{"ok":true}`},
		{"?check_db=1", nil, 200, `{"ok":true}`},
		{"?check_db=1", away, 500, `{"ok":false,"services":{"database":{"ok":false,"error":"The database does not answer."}}}`},
		{"?check_db=1", errors.New("password of root"), 500,
			`{"ok":false,"services":{"database":{"ok":false,"error":"The database does not respond. See the bridge's log for the cause."}}}`},
	} {
		router := mux.NewRouter()
		Mount(router, nil, adapter.Face{Ready: func(context.Context) error { return c.err }})
		for _, method := range []string{http.MethodGet, http.MethodHead} { // net/http omits the body of a response to HEAD
			w := httptest.NewRecorder()
			router.ServeHTTP(w, httptest.NewRequest(method, "/ok"+c.query, nil))
			if w.Code != c.status || w.Body.String() != c.body {
				t.Errorf("%s %s with %v: %d %s", method, c.query, c.err, w.Code, w.Body)
			}
		}
	}
}
