package config

import (
	"strings"
	"time"

	"github.com/apbridge/apbridge/mapping"
)

// Auth configures the callers. If it is empty, every caller is accepted and the bridge may only listen on a loopback
// address.
type Auth struct {
	Keys         []Key         `yaml:"keys"`
	JWT          []JWT         `yaml:"jwt"`
	Certificates []Certificate `yaml:"certificates"`
}

// On reports whether callers must authenticate.
func (a Auth) On() bool { return len(a.Keys)+len(a.JWT)+len(a.Certificates) > 0 }

// Said reports whether callers may authenticate with a key or a token, as opposed to a certificate of the connection.
func (a Auth) Said() bool { return len(a.Keys)+len(a.JWT) > 0 }

// Access holds the permissions of a principal. Keys, tokens and certificates have the same fields for them.
type Access struct {
	Tenant     string
	Agents     []string // empty means all
	Rights     []string // of mapping.Rights; empty means all that concern its tenant
	Namespaces []string // of the long-term store, labels separated by slashes; empty means all, or none with Own
	Own        bool     // it only sees objects that it created
	Queue      int      // maximum number of its waiting runs; 0 means no limit
}

// Key is a caller with an API key.
type Key struct {
	ID      string   `yaml:"id"`
	Key     Secret   `yaml:"key"`     // the key, or sha256:HEX of it
	Keys    []Secret `yaml:"keys"`    // further valid keys
	Expires string   `yaml:"expires"` // RFC 3339; "" means never
	Tenant  string   `yaml:"tenant"`
	Agents  []string `yaml:"agents"`
	Rights  []string `yaml:"rights"`
	Scope   string   `yaml:"scope" choice:"tenant own"`
	Queue   int      `yaml:"queue"`
	// Namespaces may contain {id}, which is replaced by the id as a label.
	Namespaces []string `yaml:"namespaces"`
	// Limits apply to the key, in addition to those of its tenant.
	Limits Allowance `yaml:"limits"`
}

// Access returns the permissions of the key.
func (k Key) Access() Access {
	return Access{k.Tenant, k.Agents, k.Rights, k.Namespaces, k.Scope == scopeOwn, k.Queue}
}

// Secrets returns all valid keys of this caller.
func (k Key) Secrets() []Secret {
	if k.Key == "" {
		return k.Keys
	}
	return append([]Secret{k.Key}, k.Keys...)
}

// Ends returns the expiry of a validated key, or zero for never.
func (k Key) Ends() time.Time {
	at, _ := time.Parse(time.RFC3339, k.Expires)
	return at
}

// The values of Scope.
const (
	scopeTenant = "tenant"
	scopeOwn    = "own"
)

// JWT is an issuer of tokens (RFC 7519). Each token names its principal.
type JWT struct {
	ID         string        `yaml:"id"`     // begins the id of each token's principal
	Issuer     string        `yaml:"issuer"` // required value of iss
	JWKS       string        `yaml:"jwks"`   // URL or file of its keys (RFC 7517); "" means OpenID Connect Discovery
	Audience   []string      `yaml:"audience"`
	Algorithms []string      `yaml:"algorithms"`
	Leeway     time.Duration `yaml:"leeway"`  // tolerated difference of clocks
	MaxAge     time.Duration `yaml:"max_age"` // maximum age of a token since iat; 0 means until exp
	Stale      time.Duration `yaml:"stale"`   // how long keys are used after the last contact with the issuer
	Claims     Claims        `yaml:"claims"`
	Tenant     string        `yaml:"tenant"`
	Agents     []string      `yaml:"agents"`
	Rights     []string      `yaml:"rights"`
	Scope      string        `yaml:"scope" choice:"own tenant"`
	Queue      int           `yaml:"queue"`
	Namespaces []string      `yaml:"namespaces"`
}

// Claims maps a principal's permissions to claims of its token. Each value is the name of a claim or, if it begins with
// a slash, a JSON pointer (RFC 6901) into the claims. Permissions without a claim are those of the issuer's
// configuration.
type Claims struct {
	ID         string `yaml:"id"`
	Tenant     string `yaml:"tenant"`
	Rights     string `yaml:"rights"`
	Agents     string `yaml:"agents"`
	Namespaces string `yaml:"namespaces"`
}

// Access returns the permissions of tokens that have none of their own.
func (j JWT) Access() Access {
	return Access{j.Tenant, j.Agents, j.Rights, j.Namespaces, j.Scope != scopeTenant, j.Queue}
}

// Name returns the id of a token's principal.
func (j JWT) Name(subject string) string { return j.ID + ":" + subject }

// defaultJWT returns the default values of an issuer.
func defaultJWT() JWT {
	return JWT{
		Algorithms: []string{"RS256", "PS256", "ES256", "ES384", "EdDSA"}, Leeway: time.Minute, Stale: 24 * time.Hour,
		Claims: Claims{ID: "sub"}, Scope: scopeOwn, Audience: []string{},
	}
}

// Certificate is a caller with a certificate of an authority in tls.client_ca. Either Subject or SAN is set.
type Certificate struct {
	ID         string   `yaml:"id"`
	Subject    string   `yaml:"subject"` // the whole name according to RFC 4514
	SAN        string   `yaml:"san"`     // a DNS name, an e-mail address, an IP address or a URI
	Tenant     string   `yaml:"tenant"`
	Agents     []string `yaml:"agents"`
	Rights     []string `yaml:"rights"`
	Scope      string   `yaml:"scope" choice:"tenant own"`
	Queue      int      `yaml:"queue"`
	Namespaces []string `yaml:"namespaces"`
}

// Access returns the permissions of the certificate's holder.
func (c Certificate) Access() Access {
	return Access{c.Tenant, c.Agents, c.Rights, c.Namespaces, c.Scope == scopeOwn, c.Queue}
}

// Principal returns the principal of a caller with this id.
func (a Access) Principal(id string) mapping.Principal {
	return mapping.Principal{
		ID: id, Tenant: a.Tenant, Agents: allIfEmpty(a.Agents), Rights: allIfEmpty(a.Rights), Own: a.Own, Queue: a.Queue, Namespaces: a.reach(id),
	}
}

// allIfEmpty returns nil, which means all in a principal, for an empty list in the file.
func allIfEmpty(list []string) []string {
	if len(list) == 0 {
		return nil
	}
	return list
}

// reach returns Namespaces as lists of labels, or nil for all.
func (a Access) reach(id string) (list [][]string) {
	if a.Own {
		list = [][]string{}
	}
	for _, ns := range a.Namespaces {
		list = append(list, strings.Split(strings.ReplaceAll(ns, ownID, label(id)), "/"))
	}
	return list
}

// ownID is replaced in a namespace by the id of the principal.
const ownID = "{id}"

// label encodes an id as one label. Invalid characters are escaped as in a URL.
func label(id string) string {
	return strings.NewReplacer("%", "%25", ".", "%2E", "/", "%2F").Replace(id)
}

// Principal returns the principal with an id according to this configuration, for background work. A token's claims are
// unknown there, so its permissions are those of its issuer's configuration. known is false if the id is unknown or of
// another tenant, or if the key has expired.
func (a Auth) Principal(id, tenant string, now time.Time) (who mapping.Principal, known bool) {
	for _, k := range a.Keys {
		if k.ID == id && (k.Expires == "" || now.Before(k.Ends())) {
			who, known = k.Access().Principal(id), true
		}
	}
	for _, c := range a.Certificates {
		if c.ID == id {
			who, known = c.Access().Principal(id), true
		}
	}
	for _, j := range a.JWT {
		if strings.HasPrefix(id, j.Name("")) {
			who, known = j.behind(id, tenant), true
		}
	}
	return who, known && who.Tenant == tenant
}

// behind returns the principal for a token's id without the token. It lacks the permissions in the claims.
func (j JWT) behind(id, tenant string) mapping.Principal {
	a := j.Access()
	if j.Claims.Tenant != "" {
		a.Tenant = tenant
	}
	who := a.Principal(id)
	if j.Claims.Agents != "" && who.Agents == nil {
		who.Agents = []string{}
	}
	if j.Claims.Namespaces != "" && who.Namespaces == nil {
		who.Namespaces = [][]string{}
	}
	return who
}
