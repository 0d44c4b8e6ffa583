package config

import (
	"regexp"
	"strings"
)

// The placeholders for the principal in a header's value.
const (
	principalID     = "{principal.id}"
	principalTenant = "{principal.tenant}"
)

// principalPart matches attempts at such a placeholder.
var principalPart = regexp.MustCompile(`\{\s*principal\b[^}]*\}?`)

// HeaderFor returns the value of an agent's header for a call on behalf of a principal. If a placeholder has no value,
// ok is false and the header must not be sent. In replacements, % and bytes that are not visible ASCII become %XX, so
// that no two principals look the same and no value breaks a header.
func (s Secret) HeaderFor(id, tenant string) (value string, ok bool) {
	value = s.Reveal()
	for part, text := range map[string]string{principalID: id, principalTenant: tenant} {
		if text == "" && strings.Contains(value, part) {
			return "", false
		}
	}
	return strings.NewReplacer(principalID, escaped(id), principalTenant, escaped(tenant)).Replace(value), true
}

// IsOfPrincipal reports whether the value of a header depends on the principal.
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

// checkPrincipalParts refuses placeholders that HeaderFor would send verbatim.
func (r *report) checkPrincipalParts(key string, value Secret) {
	for _, part := range principalPart.FindAllString(value.Reveal(), -1) {
		if part != principalID && part != principalTenant {
			r.problem(key, "there is no %s; write %s or %s", part, principalID, principalTenant)
		}
	}
}
