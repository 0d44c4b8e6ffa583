package proxy

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/json"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"testing"
	"time"

	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/google/go-cmp/cmp"
	"github.com/gorilla/mux"
)

// authority signs certificates of clients.
type authority struct {
	*testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	file string
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{T: t, file: filepath.Join(t.TempDir(), "ca.pem")}
	made := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	var der []byte
	der, a.key = a.sign(made, nil)
	writePEM(t, a.file, "CERTIFICATE", der)
	var err error
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	return a
}

func (a *authority) sign(made *x509.Certificate, by *x509.Certificate) ([]byte, *ecdsa.PrivateKey) {
	a.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.Fatal(err)
	}
	signer := a.key
	if by == nil {
		by, signer = made, key
	}
	der, err := x509.CreateCertificate(rand.Reader, made, by, &key.PublicKey, signer)
	if err != nil {
		a.Fatal(err)
	}
	return der, key
}

// client returns a certificate that is valid for the given time.
func (a *authority) client(made x509.Certificate, known *x509.CertPool, protocol string, good time.Duration) *http.Client {
	made.SerialNumber, made.NotBefore, made.NotAfter = big.NewInt(2), time.Now().Add(-time.Hour), time.Now().Add(good)
	made.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	der, key := a.sign(&made, a.cert)
	return &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true, ForceAttemptHTTP2: protocol == "h2",
		TLSClientConfig: &tls.Config{RootCAs: known, NextProtos: []string{protocol}, Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}},
	}}
}

// rdn returns one relative distinguished name from pairs of type and value.
func rdn(pairs ...string) pkix.RelativeDistinguishedNameSET {
	types := map[string]asn1.ObjectIdentifier{"CN": {2, 5, 4, 3}, "O": {2, 5, 4, 10}}
	var set pkix.RelativeDistinguishedNameSET
	for i := 0; i < len(pairs); i += 2 {
		set = append(set, pkix.AttributeTypeAndValue{Type: types[pairs[i]], Value: pairs[i+1]})
	}
	return set
}

// raw returns a subject with exactly these names, outermost first.
func raw(names ...pkix.RelativeDistinguishedNameSET) x509.Certificate {
	der, err := asn1.Marshal(pkix.RDNSequence(names))
	if err != nil {
		panic(err)
	}
	return x509.Certificate{RawSubject: der}
}

// TestCertificates checks that a client is identified by the name in its certificate, signed by an authority of
// tls.client_ca, unless it sends a key.
func TestCertificates(t *testing.T) {
	t.Parallel()
	files, known := certify(t, t.TempDir(), 1)
	a := newAuthority(t)
	files.ClientCA = a.file
	g := start(t, func(c *config.Config, _ *Options) {
		c.TLS = files
		c.Auth = config.Auth{
			Keys: []config.Key{{ID: "alice", Key: aliceKey}},
			Certificates: []config.Certificate{
				{ID: "builder", Subject: "CN=builder,O=acme", Tenant: "acme", Agents: []string{"a"}, Rights: []string{"run"}, Scope: "own", Queue: 3, Namespaces: []string{"u/{id}"}},
				{ID: "host", SAN: "host.example"},
				{ID: "spiffe", SAN: "spiffe://example/a"},
				{ID: "address", SAN: "127.0.0.9"},
				{ID: "mail", SAN: "a@example.com"},
			},
		}
	}, func(r *mux.Router) {
		r.HandleFunc("/who", func(w http.ResponseWriter, r *http.Request) {
			_ = json.NewEncoder(w).Encode(mapping.PrincipalOf(r.Context()))
		}).Methods("GET")
	})
	named := func(cn string, o ...string) x509.Certificate {
		return x509.Certificate{Subject: pkix.Name{CommonName: cn, Organization: o}}
	}
	uri, _ := url.Parse("spiffe://example/a")
	for _, tt := range []struct {
		name   string
		cert   x509.Certificate
		key    string
		want   string // id
		status int
	}{
		{"a subject", raw(rdn("O", "acme"), rdn("CN", "builder")), "", "", 403}, // its rights do not suffice for the route
		{"a subject in another order", raw(rdn("CN", "builder"), rdn("O", "acme")), "", "", 401},
		{"a subject with another name above", raw(rdn("O", "acme"), rdn("CN", "mallory"), rdn("CN", "builder")), "", "", 401},
		{"a subject with an organization more", raw(rdn("O", "x"), rdn("O", "acme"), rdn("CN", "builder")), "", "", 401},
		{"a subject with both names in one place", raw(rdn("O", "acme", "CN", "builder")), "", "", 401},
		{"a subject with one more name at a place", raw(rdn("O", "acme"), rdn("CN", "builder", "CN", "mallory")), "", "", 401},
		{"a subject with a comma in a name", raw(rdn("CN", "builder,O=acme")), "", "", 401},
		{"a DNS name that is another's URI", x509.Certificate{DNSNames: []string{"spiffe://example/a"}}, "", "", 401},
		{"a DNS name that is another's mail address", x509.Certificate{DNSNames: []string{"a@example.com"}}, "", "", 401},
		{"a DNS name that is another's address", x509.Certificate{DNSNames: []string{"127.0.0.9"}}, "", "", 401},
		{"a mail address that is another's URI", x509.Certificate{EmailAddresses: []string{"spiffe://example/a"}}, "", "", 401},
		{"a mail address that is another's DNS name", x509.Certificate{EmailAddresses: []string{"host.example"}}, "", "", 401},
		{"a URI that is another's DNS name", x509.Certificate{URIs: []*url.URL{{Path: "host.example"}}}, "", "", 401},
		{"a URI that is another's mail address", x509.Certificate{URIs: []*url.URL{{Path: "a@example.com"}}}, "", "", 401},
		{"part of a subject", named("builder"), "", "", 401},
		{"a DNS name", x509.Certificate{DNSNames: []string{"x", "HOST.example"}}, "", "host", 200},
		{"a URI", x509.Certificate{URIs: []*url.URL{uri}}, "", "spiffe", 200},
		{"an address", x509.Certificate{IPAddresses: []net.IP{net.ParseIP("127.0.0.9")}}, "", "address", 200},
		{"a mail address", x509.Certificate{EmailAddresses: []string{"a@example.com"}}, "", "mail", 200},
		{"a name that is nobody's", named("host.example"), "", "", 401},
		{"a key takes precedence", x509.Certificate{DNSNames: []string{"host.example"}}, aliceKey, "alice", 200},
		{"a certificate does not make up for a wrong key", x509.Certificate{DNSNames: []string{"host.example"}}, "wrong", "", 401},
	} {
		for _, protocol := range []string{"http/1.1", "h2"} {
			t.Run(tt.name+" "+protocol, func(t *testing.T) {
				t.Parallel()
				req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, g.URL()+"/who", nil)
				if err != nil {
					t.Fatal(err)
				}
				req.Header.Set("X-Api-Key", tt.key)
				res, err := a.client(tt.cert, known, protocol, time.Hour).Do(req)
				if err != nil {
					t.Fatal(err)
				}
				got := read(t, res)
				who := mapping.Principal{}
				_ = json.Unmarshal([]byte(got.body), &who)
				if got.status != tt.status || who.ID != tt.want {
					t.Errorf("%d %s", got.status, got.body)
				}
			})
		}
	}
	if _, err := a.client(named("builder", "acme"), known, "h2", -time.Minute).Get(g.URL() + "/who"); err == nil {
		t.Error("an expired certificate was accepted")
	}
	want := mapping.Principal{
		ID: "builder", Tenant: "acme", Agents: []string{"a"}, Rights: []string{"run"}, Own: true, Queue: 3, Namespaces: [][]string{{"u", "builder"}},
	}
	if diff := cmp.Diff(want, g.cfg.Auth.Certificates[0].Access().Principal("builder")); diff != "" {
		t.Errorf("what a certificate may do (-want +got):\n%s", diff)
	}
}
