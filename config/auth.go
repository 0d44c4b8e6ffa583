package config

import (
	"strings"
	"time"

	"github.com/apbridge/apbridge/mapping"
)

// Auth configures the callers. When it is empty every caller is let in, and only a loopback address may be listened on.
type Auth struct {
	Keys         []Key         `yaml:"keys"`
	JWT          []JWT         `yaml:"jwt"`
	Certificates []Certificate `yaml:"certificates"`
}

// On reports whether callers have to show who they are.
func (a Auth) On() bool { return len(a.Keys)+len(a.JWT)+len(a.Certificates) > 0 }

// Said reports whether callers may have to send a key or a token with a request; a certificate is shown by the
// connection.
func (a Auth) Said() bool { return len(a.Keys)+len(a.JWT) > 0 }

// Access is what a principal may do. Keys, tokens and certificates are given it by the same names.
type Access struct {
	Tenant     string
	Agents     []string // empty: all
	Rights     []string // of mapping.Rights; empty: all that concern its tenant
	Namespaces []string // of the long-term store, labels parted by slashes; empty: all, or none where Own
	Own        bool     // it sees what it made itself
	Queue      int      // of its runs that wait; 0: any number
}

// Key is a caller that shows an API key.
type Key struct {
	ID      string   `yaml:"id"`
	Key     Secret   `yaml:"key"`     // the key, or sha256:HEX of it
	Keys    []Secret `yaml:"keys"`    // further ones, as good as Key
	Expires string   `yaml:"expires"` // RFC 3339; "": never
	Tenant  string   `yaml:"tenant"`
	Agents  []string `yaml:"agents"`
	Rights  []string `yaml:"rights"`
	Scope   string   `yaml:"scope" choice:"tenant own"`
	Queue   int      `yaml:"queue"`
	// Namespaces may hold {id}, which stands for the id as a label.
	Namespaces []string `yaml:"namespaces"`
	// Limits are of the key alone; those of its tenant hold besides.
	Limits Allowance `yaml:"limits"`
}

// Access returns what the key may do.
func (k Key) Access() Access {
	return Access{k.Tenant, k.Agents, k.Rights, k.Namespaces, k.Scope == scopeOwn, k.Queue}
}

// Secrets returns the keys that are good for this caller.
func (k Key) Secrets() []Secret {
	if k.Key == "" {
		return k.Keys
	}
	return append([]Secret{k.Key}, k.Keys...)
}

// Ends returns when the key stops being good, zero for never. The key has been validated.
func (k Key) Ends() time.Time {
	at, _ := time.Parse(time.RFC3339, k.Expires)
	return at
}

// The values of Scope.
const (
	scopeTenant = "tenant"
	scopeOwn    = "own"
)

// JWT is an issuer of tokens (RFC 7519), each of which says for whom it is.
type JWT struct {
	ID         string        `yaml:"id"`     // begins the id of each token's principal
	Issuer     string        `yaml:"issuer"` // what iss is
	JWKS       string        `yaml:"jwks"`   // URL or file of its keys (RFC 7517); "": by OpenID Connect Discovery
	Audience   []string      `yaml:"audience"`
	Algorithms []string      `yaml:"algorithms"`
	Leeway     time.Duration `yaml:"leeway"`  // by which clocks may differ
	MaxAge     time.Duration `yaml:"max_age"` // of a token, since iat; 0: its exp alone counts
	Stale      time.Duration `yaml:"stale"`   // for which keys are used after the issuer was last heard of
	Claims     Claims        `yaml:"claims"`
	Tenant     string        `yaml:"tenant"`
	Agents     []string      `yaml:"agents"`
	Rights     []string      `yaml:"rights"`
	Scope      string        `yaml:"scope" choice:"own tenant"`
	Queue      int           `yaml:"queue"`
	Namespaces []string      `yaml:"namespaces"`
}

// Claims are where a token tells what a principal may do: the name of a claim, or with a slash in front a JSON pointer
// (RFC 6901) into the claims. What has no name is as the issuer's own keys say.
type Claims struct {
	ID         string `yaml:"id"`
	Tenant     string `yaml:"tenant"`
	Rights     string `yaml:"rights"`
	Agents     string `yaml:"agents"`
	Namespaces string `yaml:"namespaces"`
}

// Access returns what a token may do that does not say so itself.
func (j JWT) Access() Access {
	return Access{j.Tenant, j.Agents, j.Rights, j.Namespaces, j.Scope != scopeTenant, j.Queue}
}

// Name returns the id of the principal that a token is for.
func (j JWT) Name(subject string) string { return j.ID + ":" + subject }

// defaultJWT is what an issuer's keys are when the file does not name them.
func defaultJWT() JWT {
	return JWT{
		Algorithms: []string{"RS256", "PS256", "ES256", "ES384", "EdDSA"}, Leeway: time.Minute, Stale: 24 * time.Hour,
		Claims: Claims{ID: "sub"}, Scope: scopeOwn, Audience: []string{},
	}
}

// Certificate is a caller that shows a certificate of an authority in tls.client_ca. One of Subject and SAN is set.
type Certificate struct {
	ID         string   `yaml:"id"`
	Subject    string   `yaml:"subject"` // the whole name, as RFC 4514 writes it
	SAN        string   `yaml:"san"`     // a DNS name, an e-mail address, an IP address or a URI
	Tenant     string   `yaml:"tenant"`
	Agents     []string `yaml:"agents"`
	Rights     []string `yaml:"rights"`
	Scope      string   `yaml:"scope" choice:"tenant own"`
	Queue      int      `yaml:"queue"`
	Namespaces []string `yaml:"namespaces"`
}

// Access returns what the certificate's holder may do.
func (c Certificate) Access() Access {
	return Access{c.Tenant, c.Agents, c.Rights, c.Namespaces, c.Scope == scopeOwn, c.Queue}
}

// Principal returns the principal of a caller with this id.
func (a Access) Principal(id string) mapping.Principal {
	return mapping.Principal{
		ID: id, Tenant: a.Tenant, Agents: allIfEmpty(a.Agents), Rights: allIfEmpty(a.Rights), Own: a.Own, Queue: a.Queue, Namespaces: a.reach(id),
	}
}

// allIfEmpty: an empty list in the file means all, which a principal says by nil.
func allIfEmpty(list []string) []string {
	if len(list) == 0 {
		return nil
	}
	return list
}

// reach is Namespaces as lists of labels; nil: all.
func (a Access) reach(id string) (list [][]string) {
	if a.Own {
		list = [][]string{}
	}
	for _, ns := range a.Namespaces {
		list = append(list, strings.Split(strings.ReplaceAll(ns, ownID, label(id)), "/"))
	}
	return list
}

// ownID stands in a namespace for the id of its owner.
const ownID = "{id}"

// label is an id as one label: what a label cannot hold is written as in a URL.
func label(id string) string {
	return strings.NewReplacer("%", "%25", ".", "%2E", "/", "%2F").Replace(id)
}

// Principal returns the principal of an id by this configuration, for work in the background. A token's claims are not
// known then, so that it is what its issuer's keys say. known is false for an id that is not configured, for one of
// another tenant, and for a key that is not good any more at the time.
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

// behind is the principal of a token's id when the token is not at hand: what its claims would have said, it does not
// have.
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
