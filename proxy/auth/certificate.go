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

// certificate is a caller with a client certificate.
type certificate struct {
	cfg  config.Certificate
	who  mapping.Principal
	life life
}

// shown returns the Pass of a connection's certificate, if it was verified with tls.client_ca. The Pass expires with
// the certificate.
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

// names reports whether a certificate belongs to this caller. The form of an alternative name determines its kind.
// Names of other kinds do not match, because an authority may verify each kind differently.
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

// subjectOf returns the subject according to RFC 4514, or "" if there is none. It is built from the certificate's own
// sequence of names, because a pkix.Name keeps only the last name of each kind, without order and grouping.
func subjectOf(leaf *x509.Certificate) string {
	var names pkix.RDNSequence
	if rest, err := asn1.Unmarshal(leaf.RawSubject, &names); err != nil || len(rest) > 0 {
		return ""
	}
	return names.String()
}

// succeeded continues with the same certificate of a later configuration, or ends.
func (c *certificate) succeeded(now []*certificate) {
	for _, one := range now {
		if reflect.DeepEqual(one.cfg, c.cfg) {
			one.life = c.life
			return
		}
	}
	c.life.end(errGone)
}
