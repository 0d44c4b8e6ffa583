package upstream_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/adapter/upstream"
)

// certified returns the URL of a TLS server with a self-signed certificate that is valid until the given time.
func certified(t *testing.T, until time.Time) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	about := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: until.Add(-time.Hour), NotAfter: until, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, about, about, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewUnstartedServer(nil)
	srv.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.StartTLS()
	t.Cleanup(srv.Close)
	return srv.URL
}

func TestCauses(t *testing.T) {
	t.Parallel()
	silent := make(chan struct{})
	plain := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-silent:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(plain.Close)
	t.Cleanup(func() { close(silent) })
	trusted := httptest.NewUnstartedServer(nil)
	trusted.Config.ErrorLog = log.New(io.Discard, "", 0)
	trusted.StartTLS()
	t.Cleanup(trusted.Close)
	for name, tt := range map[string]struct{ url, want string }{
		"refused":      {nowhere(t), "nothing is listening there"},
		"unknown host": {"https://agent.invalid", "host name is not known"},
		"untrusted":    {certified(t, time.Now().Add(time.Hour)), "does not trust"},
		"expired":      {certified(t, time.Now().Add(-time.Minute)), "has expired"},
		"other name":   {strings.Replace(trusted.URL, "127.0.0.1", "localhost", 1), "is for another host name"},
		"no TLS":       {"https" + strings.TrimPrefix(plain.URL, "http"), "write http://"},
		"TLS":          {"http://" + adaptertest.Talker(t, "\x15\x03\x01\x00\x02\x02\x16"), "write https://"},
		"not HTTP":     {"http://" + adaptertest.Talker(t, "220 mail.example.com ESMTP\r\n"), "does not speak HTTP"},
		"closes":       {"http://" + adaptertest.Talker(t, ""), "closed the connection"},
		"silent":       {plain.URL, "did not answer in time"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			patience := time.Minute
			if name == "silent" {
				patience = time.Second
			}
			_, err := clientOf(t, tt.url).Do(t.Context(), &upstream.Call{Method: http.MethodGet, Path: "/", Time: patience})
			f := upstream.Of(err)
			if f == nil || !strings.Contains(f.Cause(), tt.want) {
				t.Errorf("the cause of %v is %q, want %q in it", err, upstream.CauseOf(err), tt.want)
			}
		})
	}
}

func TestOtherErrorsHaveNoCause(t *testing.T) {
	t.Parallel()
	for _, err := range []error{nil, context.Canceled, http.ErrNotSupported} {
		if said := upstream.CauseOf(err); said != "" {
			t.Errorf("the cause of %v is %q", err, said)
		}
	}
}
