package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/examples/legacyagent"
)

// authority signs certificates.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t}
	der, key := a.sign(&x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	a.cert, a.key = cert, key
	return a
}

func (a *authority) sign(c *x509.Certificate) (der []byte, key *ecdsa.PrivateKey) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	c.SerialNumber, c.NotBefore, c.NotAfter = big.NewInt(time.Now().UnixNano()), time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent, by := a.cert, a.key
	if parent == nil {
		parent, by = c, key
	}
	if der, err = x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, by); err != nil {
		a.t.Fatal(err)
	}
	return der, key
}

// pair returns a certificate for a name.
func (a *authority) pair(name string) tls.Certificate {
	der, key := a.sign(&x509.Certificate{DNSNames: []string{name}})
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// write writes the authority to a folder, with a certificate for the bridge and its key.
func (a *authority) write(folder string) {
	a.t.Helper()
	mine := a.pair("bridge")
	key, err := x509.MarshalPKCS8PrivateKey(mine.PrivateKey)
	if err != nil {
		a.t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{
		"ca.pem": {Type: "CERTIFICATE", Bytes: a.cert.Raw}, "cert.pem": {Type: "CERTIFICATE", Bytes: mine.Certificate[0]}, "key.pem": {Type: "PRIVATE KEY", Bytes: key},
	} {
		rig.WriteFile(a.t, filepath.Join(folder, name), string(pem.EncodeToMemory(block)))
	}
}

// agent returns the TLS settings of a server agent.internal that requires a certificate of the authority.
//
// It uses TLS 1.2: in 1.3 a client's handshake ends before its certificate is checked, and it depends on timing whether
// the client reads the refusal or the end of the connection.
func (a *authority) agent() *tls.Config {
	known := x509.NewCertPool()
	known.AddCert(a.cert)
	return &tls.Config{Certificates: []tls.Certificate{a.pair("agent.internal")}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: known, NextProtos: []string{"h2", "http/1.1"}, MaxVersion: tls.VersionTLS12}
}

// TestTLSTowardsAnAgent checks that the bridge shows its certificate and checks the agent's, on both ways to it, with
// the current contents of the files.
func TestTLSTowardsAnAgent(t *testing.T) {
	t.Parallel()
	one, folder := newAuthority(t), t.TempDir()
	one.write(folder)
	var speaks atomic.Pointer[tls.Config]
	speaks.Store(one.agent())
	agent := httptest.NewUnstartedServer(legacyagent.Handler())
	agent.TLS = &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return speaks.Load(), nil }}
	agent.StartTLS()
	t.Cleanup(agent.Close)
	file := func(name string) string { return filepath.Join(folder, name) }
	secure := func(parts ...string) string {
		return "agents: {a: {url: '" + agent.URL + "', passthrough: true, dialect: taskstep, tls: {" + strings.Join(parts, ", ") + "}}}\n"
	}
	ca, name, cert, key := "ca: "+file("ca.pem"), "server_name: agent.internal", "cert: "+file("cert.pem"), "key: "+file("key.pem")
	r := startReloaded(t, secure(ca, name, cert, key))
	works := func(want bool, says string) {
		t.Helper()
		status, wanted := 200, `"status":"success"`
		if !want {
			status, wanted = 502, `"status":"error"`
		}
		r.want(200, "", "POST", "/runs/wait", `{"input":"hi"}`, wanted, says)
		r.want(status, "", "GET", "/agents/a/upstream/ap/v1/agent/tasks", "")
	}
	works(true, "")
	r.reload(secure(ca, cert, key), `"changed":\["agents.a.tls.server_name"\]`)
	works(false, "its certificate is for another host name")
	r.reload(secure(name, cert, key), `"agents.a.tls.ca"`)
	works(false, "its certificate is signed by an authority that this machine does not trust")
	r.reload(secure(ca, name), `"agents.a.tls.cert"`)
	works(false, "the TLS handshake with its server failed")
	r.reload(secure(ca, name, cert, key)+"limits: {max_json_depth: 7}\n", `"limits.max_json_depth"`)
	works(true, "")
	two := newAuthority(t)
	two.write(folder)
	speaks.Store(two.agent())
	agent.CloseClientConnections()
	r.said.Await(t, `"changed":\["(agents.a.tls)"\]`)
	works(true, "")
}
