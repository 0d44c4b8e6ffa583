package proxy

import (
	"bufio"
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/apbridge/apbridge/config"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
)

// certify writes a self-signed certificate for 127.0.0.1, and its key.
func certify(t *testing.T, folder string, serial int64) (files config.TLS, known *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	made := &x509.Certificate{
		SerialNumber: big.NewInt(serial), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true,
	}
	cert, err := x509.CreateCertificate(rand.Reader, made, made, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	files = config.TLS{Cert: filepath.Join(folder, "cert.pem"), Key: filepath.Join(folder, "key.pem")}
	known = x509.NewCertPool()
	known.AppendCertsFromPEM(writePEM(t, files.Cert, "CERTIFICATE", cert))
	writePEM(t, files.Key, "PRIVATE KEY", secret)
	return files, known
}

func writePEM(t *testing.T, file, kind string, der []byte) []byte {
	t.Helper()
	text := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return text
}

func startTLS(t *testing.T) (*rig, *x509.CertPool) {
	t.Helper()
	files, known := certify(t, t.TempDir(), 1)
	return start(t, func(c *config.Config, _ *Options) { c.TLS = files }, nil), known
}

func TestTLSWithEitherVersionOfHTTP(t *testing.T) {
	t.Parallel()
	g, known := startTLS(t)
	if !strings.HasPrefix(g.URL(), "https://") {
		t.Errorf("its URL is %s", g.URL())
	}
	for version, protocols := range map[string][]string{"HTTP/2.0": {"h2", "http/1.1"}, "HTTP/1.1": {"http/1.1"}} {
		client := &http.Client{Transport: &http.Transport{
			TLSClientConfig: &tls.Config{RootCAs: known, NextProtos: protocols}, ForceAttemptHTTP2: version == "HTTP/2.0",
		}}
		defer client.CloseIdleConnections()
		for range 3 { // a connection is reused
			res, err := client.Post(g.URL()+"/threads", "application/json", strings.NewReader("hello"))
			if err != nil {
				t.Fatal(version, err)
			}
			if got := read(t, res); res.Proto != version || got.body != "5 bytes" {
				t.Errorf("%s: got %s, %q", version, res.Proto, got.body)
			}
		}
	}
}

// TestTwoFramingsWithinTLS checks that framing that an intermediary could read differently is also refused within TLS
// (E8).
func TestTwoFramingsWithinTLS(t *testing.T) {
	t.Parallel()
	g, known := startTLS(t)
	conn, err := tls.Dial("tcp", g.Addr(), &tls.Config{RootCAs: known, NextProtos: []string{"http/1.1"}})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	_, _ = io.WriteString(conn, "POST /threads HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := read(t, res); got.status != 400 || got.code(t) != codeFraming || !got.closes {
		t.Errorf("got %d %s", got.status, got.body)
	}
}

func TestPlainHTTPOnATLSPort(t *testing.T) {
	t.Parallel()
	g, _ := startTLS(t)
	got := g.raw(t, "GET /ok HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
	if got.status != 400 || !strings.Contains(got.body, "https://") {
		t.Errorf("got %d %q", got.status, got.body)
	}
}

// TestMissingHandshake checks that a client that never completes its handshake delays no other client, and that
// its connection counts.
func TestMissingHandshake(t *testing.T) {
	t.Parallel()
	files, known := certify(t, t.TempDir(), 1)
	g := prepare(t, func(c *config.Config, _ *Options) { c.TLS = files }, nil)
	g.times.header = 2 * time.Second
	g.run(t)
	silent, err := net.Dial("tcp", g.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: known}}}
	defer client.CloseIdleConnections()
	res, err := client.Get(g.URL() + "/ok")
	if err != nil {
		t.Fatal(err)
	}
	read(t, res)
	_ = silent.SetReadDeadline(time.Now().Add(time.Minute))
	if n, err := silent.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("the silent connection: %d bytes, %v; want it closed", n, err)
	}
}

func TestChangedCertificateIsReloaded(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	files, _ := certify(t, folder, 1)
	undated(t, files.Cert, files.Key)
	core, logs := observer.New(zapcore.InfoLevel)
	c, err := newCertificate(files, zap.New(core))
	if err != nil {
		t.Fatal(err)
	}
	serial := func(want int64) {
		t.Helper()
		c.looked = time.Time{}
		shown, err := c.get(nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := shown.Certificates[0].Leaf.SerialNumber.Int64(); got != want {
			t.Errorf("got certificate %d; want %d", got, want)
		}
	}
	serial(1)
	old, _ := os.ReadFile(files.Key)
	certify(t, folder, 2)
	fresh, _ := os.ReadFile(files.Key)
	if bytes.Equal(old, fresh) {
		t.Fatal("the key is the same")
	}
	if err := os.WriteFile(files.Key, old, 0o600); err != nil { // the new key is not written yet
		t.Fatal(err)
	}
	undated(t, files.Cert, files.Key)
	serial(1)
	if logs.FilterMessageSnippet("keeping the previous one").Len() != 1 {
		t.Errorf("logged %v", logs.All())
	}
	if err := os.WriteFile(files.Key, fresh, 0o600); err != nil {
		t.Fatal(err)
	}
	undated(t, files.Key)
	serial(2)
}

// undated sets the modification time that files always have in a package store.
func undated(t *testing.T, files ...string) {
	t.Helper()
	for _, file := range files {
		if err := os.Chtimes(file, time.Unix(1, 0), time.Unix(1, 0)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestUnusableCertificate(t *testing.T) {
	t.Parallel()
	files, _ := certify(t, t.TempDir(), 1)
	other, _ := certify(t, t.TempDir(), 2)
	for _, bad := range []config.TLS{{Cert: files.Cert, Key: other.Key}, {Cert: files.Cert, Key: "/nonexistent"}} {
		if _, err := newCertificate(bad, zap.NewNop()); err == nil || !strings.Contains(err.Error(), "tls.cert and tls.key must name PEM files") {
			t.Errorf("%v: got %v", bad, err)
		}
	}
}

// TestClientCertificates checks that a client needs a certificate of the current authority in tls.client_ca to
// complete the handshake.
func TestClientCertificates(t *testing.T) {
	t.Parallel()
	files, known := certify(t, t.TempDir(), 1)
	one, _ := certify(t, t.TempDir(), 2)
	two, _ := certify(t, t.TempDir(), 3)
	files.ClientCA = filepath.Join(t.TempDir(), "ca.pem")
	trust := func(c config.TLS) {
		raw, err := os.ReadFile(c.Cert)
		if err == nil {
			err = os.WriteFile(files.ClientCA, raw, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	trust(one)
	undated(t, files.ClientCA)
	g := start(t, func(c *config.Config, _ *Options) { c.TLS = files }, nil)
	passes := func(name string, shown *config.TLS, want bool) {
		t.Helper()
		as := &tls.Config{RootCAs: known}
		if shown != nil {
			pair, err := tls.LoadX509KeyPair(shown.Cert, shown.Key)
			if err != nil {
				t.Fatal(err)
			}
			as.Certificates = []tls.Certificate{pair}
		}
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: as, DisableKeepAlives: true}}
		res, err := client.Get(g.URL() + "/healthz")
		if err == nil {
			read(t, res)
		}
		if (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	passes("no certificate", nil, false)
	passes("a certificate of another authority", &two, false)
	passes("a certificate of the authority", &one, true)
	trust(two)
	undated(t, files.ClientCA)
	g.certificate.mu.Lock()
	g.certificate.looked = time.Time{}
	g.certificate.mu.Unlock()
	passes("a certificate of the previous authority", &one, false)
	passes("a certificate of the new authority", &two, true)
}

func TestUnusableAuthorities(t *testing.T) {
	t.Parallel()
	files, _ := certify(t, t.TempDir(), 1)
	for file, says := range map[string]string{"/nonexistent": "no such file", files.Key: "no certificate in PEM"} {
		files.ClientCA = file
		if _, err := newCertificate(files, zap.NewNop()); err == nil || !strings.Contains(err.Error(), "tls.client_ca: "+file+" cannot be used") || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", file, err)
		}
	}
}
