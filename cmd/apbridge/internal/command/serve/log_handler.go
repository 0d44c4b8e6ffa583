package serve

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/console"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
)

// logHandler serves the log's setting and changes to it.
type logHandler struct{ *console.Log }

// mostOfLog is the maximum size of a request body in bytes.
const mostOfLog = 4 << 10

// wireLog is the log's setting in requests and responses. Members missing from a PUT stay unchanged.
type wireLog struct {
	Level  string `json:"level"`
	Format string `json:"format"`
}

// ServeHTTP answers GET with the current setting. PUT changes it until the process ends.
func (s logHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	set := wireLog(s.Setting())
	switch r.Method {
	case http.MethodGet, http.MethodHead:
	case http.MethodPut:
		if err := s.put(w, r, &set); err != nil {
			e := mapping.Classify(err)
			answerLog(w, adapter.Status(e.Class), map[string]string{"code": e.Code, "message": e.Message})
			return
		}
	default:
		w.Header().Set("Allow", "GET, HEAD, PUT")
		answerLog(w, http.StatusMethodNotAllowed, map[string]string{"code": "method_not_allowed", "message": "This path accepts GET and PUT."})
		return
	}
	answerLog(w, http.StatusOK, set)
}

func (s logHandler) put(w http.ResponseWriter, r *http.Request, set *wireLog) error {
	in := json.NewDecoder(http.MaxBytesReader(w, r.Body, mostOfLog))
	in.DisallowUnknownFields()
	if err := in.Decode(set); err != nil {
		return mapping.Errorf(mapping.Invalid, mapping.CodeInvalid, `The body must be {"level": …, "format": …}, or have one of the two members.`)
	}
	for _, x := range []struct {
		name, value string
		allowed     []string
	}{{"level", set.Level, console.LogLevels}, {"format", set.Format, console.LogFormats}} {
		if !slices.Contains(x.allowed, x.value) {
			return mapping.Errorf(mapping.Invalid, mapping.CodeInvalid, "%s cannot be %q; choose one of %s.", x.name, x.value, strings.Join(x.allowed, ", "))
		}
	}
	return s.Set(config.Log(*set))
}

func answerLog(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client may have left
}
