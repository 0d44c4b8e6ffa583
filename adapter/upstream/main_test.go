package upstream_test

import (
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
)

// TestMain sets a proxy for http calls to other hosts and makes the process trust the certificate of httptest servers.
// The process reads both from the environment only once.
func TestMain(m *testing.M) {
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "proxied ", r.URL) }))
	secure := httptest.NewTLSServer(nil)
	dir, err := os.MkdirTemp("", "upstream")
	if err == nil {
		file := filepath.Join(dir, "ca.pem")
		err = os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw}), 0o600)
		os.Setenv("SSL_CERT_FILE", file)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Setenv("HTTP_PROXY", proxy.URL)
	os.Setenv("NO_PROXY", "")
	adaptertest.WaitTogether()
	code := m.Run()
	proxy.Close()
	secure.Close()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}
