package backend

import (
	"bytes"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
)

// writingNaN replaces "@" in an agent's responses with NaN.
func writingNaN(agent http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		said := httptest.NewRecorder()
		agent.ServeHTTP(said, r)
		body := bytes.ReplaceAll(said.Body.Bytes(), []byte(`"@"`), []byte("NaN"))
		maps.Copy(w.Header(), said.Header())
		w.Header().Del("Content-Length")
		w.WriteHeader(said.Code)
		_, _ = w.Write(body)
	})
}

// Agents in Python write NaN, which becomes null. A completed step does not fail because of it.
func TestNaNOfAStepIsNull(t *testing.T) {
	t.Parallel()
	agent := adaptertest.NewStepAgent(adaptertest.Plain)
	agent.Script[0].Output = `{"score":"@","text":"NaN"}`
	tr := runTask(t, backendAt(t, adaptertest.Serve(t, writingNaN(agent)).URL), adaptertest.NewTask(nil))
	mustSucceed(t, tr)
	if data := string(tr.Outputs()[0].Data); !strings.Contains(data, `null`) || strings.Contains(data, "@") {
		t.Errorf("output %s", data)
	}
}
