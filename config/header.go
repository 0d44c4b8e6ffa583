package config

import (
	"regexp"
	"strings"
)

// The principal's parts of a header's value.
const (
	principalID     = "{principal.id}"
	principalTenant = "{principal.tenant}"
)

// principalPart is what a value could mean to hold of the principal.
var principalPart = regexp.MustCompile(`\{\s*principal\b[^}]*\}?`)

// HeaderFor returns the value of an agent's header in a call that is made for a principal, by the id and the tenant of
// that. ok is false where it names one that the principal does not have: then the header is not sent. Of what is filled
// in, bytes that are not visible ASCII and % itself become %XX, so that no two principals look the same and no value
// breaks a header.
func (s Secret) HeaderFor(id, tenant string) (value string, ok bool) {
	value = s.Reveal()
	for part, text := range map[string]string{principalID: id, principalTenant: tenant} {
		if text == "" && strings.Contains(value, part) {
			return "", false
		}
	}
	return strings.NewReplacer(principalID, escaped(id), principalTenant, escaped(tenant)).Replace(value), true
}

// IsOfPrincipal reports whether a header's value differs by the principal.
func (s Secret) IsOfPrincipal() bool { return principalPart.MatchString(s.Reveal()) }

const hexDigits = "0123456789ABCDEF"

func escaped(text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		if c > ' ' && c < 0x7f && c != '%' {
			b.WriteByte(c)
		} else {
			b.Write([]byte{'%', hexDigits[c>>4], hexDigits[c&15]})
		}
	}
	return b.String()
}

// checkPrincipalParts refuses what HeaderFor would send as it stands.
func (r *report) checkPrincipalParts(key string, value Secret) {
	for _, part := range principalPart.FindAllString(value.Reveal(), -1) {
		if part != principalID && part != principalTenant {
			r.complain(key, "there is no %s; write %s or %s", part, principalID, principalTenant)
		}
	}
}
