package passthrough_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
)

// TestMain sets a proxy for calls by http to other hosts, because the environment is read only once per process.
func TestMain(m *testing.M) {
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "proxied ", r.URL) }))
	os.Setenv("HTTP_PROXY", proxy.URL)
	os.Setenv("NO_PROXY", "")
	code := m.Run()
	proxy.Close()
	os.Exit(code)
}
