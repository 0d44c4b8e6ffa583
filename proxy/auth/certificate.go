package auth

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"net"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
)

// certificate is a caller who is known by the certificate of the connection.
type certificate struct {
	cfg  config.Certificate
	who  mapping.Principal
	life life
}

// shown returns the Pass of a connection's certificate. Only one that was checked against tls.client_ca counts; it ends
// when the certificate does.
func (c *Callers) shown(state *tls.ConnectionState) (Pass, bool) {
	if state == nil || len(state.VerifiedChains) == 0 {
		return Pass{}, false
	}
	leaf := state.VerifiedChains[0][0]
	for _, one := range c.certificates {
		if one.names(leaf) && !expired(leaf.NotAfter) {
			return Pass{one.who, one.life, leaf.NotAfter}, true
		}
	}
	return Pass{}, false
}

// names reports whether a certificate is this caller's. The form of an alternative name says of which kind it is, and
// names of other kinds do not count: an authority may check each kind by other means.
func (c *certificate) names(leaf *x509.Certificate) bool {
	if c.cfg.Subject != "" {
		return subjectOf(leaf) == c.cfg.Subject
	}
	san := c.cfg.SAN
	if ip := net.ParseIP(san); ip != nil {
		return slices.ContainsFunc(leaf.IPAddresses, ip.Equal)
	}
	switch {
	case strings.Contains(san, ":"):
		return slices.ContainsFunc(leaf.URIs, func(u *url.URL) bool { return u.String() == san })
	case strings.Contains(san, "@"):
		return slices.Contains(leaf.EmailAddresses, san)
	}
	return slices.ContainsFunc(leaf.DNSNames, func(name string) bool { return strings.EqualFold(name, san) })
}

// subjectOf returns the subject as RFC 4514 writes it; "" if it is none. It is written from the certificate's own
// sequence of names: a pkix.Name has lost their order, all but the last of a kind, and which of them stand at one
// place.
func subjectOf(leaf *x509.Certificate) string {
	var names pkix.RDNSequence
	if rest, err := asn1.Unmarshal(leaf.RawSubject, &names); err != nil || len(rest) > 0 {
		return ""
	}
	return names.String()
}

// succeeded lives on in the certificate of a later configuration that is the same, or ends.
func (c *certificate) succeeded(now []*certificate) {
	for _, one := range now {
		if reflect.DeepEqual(one.cfg, c.cfg) {
			one.life = c.life
			return
		}
	}
	c.life.end(errGone)
}
