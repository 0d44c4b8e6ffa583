package config

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/apbridge/apbridge/mapping"
)

// checkAuth checks the callers.
func (r *report) checkAuth(cfg *Config) {
	c := keyCheck{report: r, agents: sortedNames(cfg.Agents), ids: map[string]bool{}, secrets: map[Secret]bool{}}
	for i, k := range cfg.Auth.Keys {
		c.check(fmt.Sprintf("auth.keys[%d]", i), k)
	}
	for i, one := range cfg.Auth.Certificates {
		c.checkCertificate(fmt.Sprintf("auth.certificates[%d]", i), one, cfg.TLS)
	}
	issuers := map[string]bool{}
	for i, j := range cfg.Auth.JWT {
		at := fmt.Sprintf("auth.jwt[%d]", i)
		c.checkIssuer(at, j)
		if issuers[j.Issuer] {
			c.problem(at+".issuer", "%q is also the issuer of an entry above; issuers must differ", j.Issuer)
		}
		issuers[j.Issuer] = true
	}
	c.checkPrefixes(cfg.Auth)
}

// checkID requires a unique id.
func (c keyCheck) checkID(at, id string) {
	switch {
	case id == "":
		c.problem(at+".id", "is missing; logs show the id instead of the key")
	case c.ids[id]:
		c.problem(at+".id", "%q is taken by a key above; ids must differ", id)
	}
	c.checkText(at+".id", id)
	c.ids[id] = true
}

// checkPrefixes refuses ids that a token could also have.
func (c keyCheck) checkPrefixes(a Auth) {
	for _, j := range a.JWT {
		for _, id := range slices.Sorted(maps.Keys(c.ids)) {
			if j.ID != "" && strings.HasPrefix(id, j.Name("")) {
				c.problem("auth.jwt", "ids of tokens begin with %q, and so does %q; choose another id", j.Name(""), id)
			}
		}
	}
}

func (c keyCheck) checkAccess(at string, a Access, scope string, scopes ...string) {
	c.checkText(at+".tenant", a.Tenant)
	c.checkAgentNames(at+".agents", a.Agents)
	c.atLeast(at+".queue", int64(a.Queue), 0)
	c.checkRights(at+".rights", a.Rights)
	c.checkNamespaces(at+".namespaces", a.Namespaces)
	if scope != "" {
		c.oneOf(at+".scope", scope, scopes...)
	}
}

// checkRights refuses unknown rights, because the key could then do more or less than intended.
func (c keyCheck) checkRights(at string, rights []string) {
	for i, r := range rights {
		if !slices.Contains(mapping.Rights(), r) {
			c.problem(fmt.Sprintf("%s[%d]", at, i), "there is no right called %q; %s", r, suggest(r, mapping.Rights()))
		}
	}
}

func (c keyCheck) checkNamespaces(at string, namespaces []string) {
	for i, ns := range namespaces {
		c.checkText(fmt.Sprintf("%s[%d]", at, i), ns)
		if !namespaceLabels.MatchString(strings.ReplaceAll(ns, ownID, "id")) {
			c.problem(fmt.Sprintf("%s[%d]", at, i), "cannot be %q; write labels separated by slashes, like users/alice or users/{id}", ns)
		}
	}
}

func (c keyCheck) checkExpires(at, expires string) {
	if expires == "" {
		return
	}
	if _, err := time.Parse(time.RFC3339, expires); err != nil {
		c.problem(at, "cannot be %q; write a time in RFC 3339 form, like 2027-01-31T00:00:00Z", expires)
	}
}

func (c keyCheck) checkCertificate(at string, one Certificate, t TLS) {
	c.checkID(at, one.ID)
	c.checkText(at+".subject", one.Subject)
	c.checkText(at+".san", one.SAN)
	switch {
	case (one.Subject == "") == (one.SAN == ""):
		c.problem(at, "must have either subject or san, the name in the certificate that identifies the client")
	case t.ClientCA == "":
		c.problem(at, "has no effect without tls.client_ca, by which certificates are requested and checked")
	}
	c.checkAccess(at, one.Access(), one.Scope, scopeTenant, scopeOwn)
}

// pinned are the allowed algorithms for tokens. If shared secrets were allowed (HS256), a public key could be used to
// sign, and "none" needs no signature.
var pinned = []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"}

// mostLeeway bounds the tolerated difference of an issuer's clock.
const mostLeeway = 5 * time.Minute

func (c keyCheck) checkIssuer(at string, j JWT) {
	c.checkID(at, j.ID)
	c.checkAddress(at+".issuer", j.Issuer, j.JWKS == "")
	if strings.Contains(j.JWKS, "://") {
		c.checkAddress(at+".jwks", j.JWKS, true)
	}
	if len(j.Audience) == 0 {
		c.problem(at+".audience", "is missing; without it, tokens that the issuer creates for other services would be valid here too")
	}
	if len(j.Algorithms) == 0 {
		c.problem(at+".algorithms", "is empty, so no token would be valid; leave it out for the usual ones")
	}
	for i, name := range j.Algorithms {
		c.oneOf(fmt.Sprintf("%s.algorithms[%d]", at, i), name, pinned...)
	}
	if j.Leeway > mostLeeway {
		c.problem(at+".leeway", "cannot be more than %s, because tokens would be valid long after they expire; synchronize the clocks instead", mostLeeway)
	}
	if j.Claims.ID == "" {
		c.problem(at+".claims.id", "is empty; name the claim that identifies the caller, such as sub")
	}
	c.checkAccess(at, j.Access(), j.Scope, scopeOwn, scopeTenant)
}

// checkAddress requires an address and, if keys are requested there, a URL that protects against interception.
func (c keyCheck) checkAddress(at, text string, asked bool) {
	c.checkText(at, text)
	u, err := url.Parse(text)
	switch {
	case text == "":
		c.problem(at, "is missing; write the iss of the tokens")
	case !asked:
	case err != nil || u.Host == "" || u.User != nil || u.Scheme != "https" && u.Scheme != "http":
		c.problem(at, "cannot be used to request keys; write an https URL, or name a file as jwks")
	case u.Scheme == "http" && !Loopback(hostPort(u)):
		c.problem(at, "is used to request keys without TLS, so anyone on the way could replace them; write https://, or name a file as jwks")
	}
}

func hostPort(u *url.URL) string {
	if u.Port() != "" {
		return u.Host
	}
	return u.Host + ":80"
}
