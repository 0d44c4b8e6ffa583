package auth

import (
	"crypto/tls"
	"crypto/x509"
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

// names reports whether a certificate is this caller's.
func (c *certificate) names(leaf *x509.Certificate) bool {
	if c.cfg.Subject != "" {
		return leaf.Subject.String() == c.cfg.Subject
	}
	san := c.cfg.SAN
	ip := net.ParseIP(san)
	return slices.ContainsFunc(leaf.DNSNames, func(name string) bool { return strings.EqualFold(name, san) }) ||
		slices.Contains(leaf.EmailAddresses, san) ||
		ip != nil && slices.ContainsFunc(leaf.IPAddresses, ip.Equal) ||
		slices.ContainsFunc(leaf.URIs, func(u *url.URL) bool { return u.String() == san })
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
