package auth

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/go-json-experiment/json/jsontext"
)

// claims are the claims of a token.
type claims map[string]json.RawMessage

// at returns the claim with a name or, after a slash, at a JSON pointer (RFC 6901), or nil.
func (c claims) at(name string) json.RawMessage {
	path, isPointer := strings.CutPrefix(name, "/")
	if !isPointer {
		return c[name]
	}
	found, rest := json.RawMessage(nil), map[string]json.RawMessage(c)
	for part := range strings.SplitSeq(path, "/") {
		found = rest[strings.NewReplacer("~1", "/", "~0", "~").Replace(part)]
		rest = nil
		_ = json.Unmarshal(found, &rest) // anything but an object has no members
	}
	return found
}

// text returns a string claim, or "".
func (c claims) text(name string) (s string) {
	if json.Unmarshal(c.at(name), &s) != nil {
		return ""
	}
	return s
}

// list returns a claim that is a list of strings, or a single string of words separated by spaces, like scope (RFC 8693
// section 4.2). there is false if there is no such claim.
func (c claims) list(name string) (list []string, there bool) {
	raw := c.at(name)
	if raw == nil {
		return nil, false
	}
	if json.Unmarshal(raw, &list) != nil {
		list = strings.Fields(c.text(name))
	}
	return list, true
}

// maxName is the maximum length in bytes of an id and a tenant from a token, because they are stored in every row.
const maxName = 256

// principal returns the principal of a token according to its claims. If a configured claim is missing, it grants
// nothing.
func (i *issuer) principal(c claims) (mapping.Principal, error) {
	a, from := i.cfg.Access(), i.cfg.Claims
	for _, name := range []string{from.ID, from.Tenant, from.Rights, from.Agents, from.Namespaces} {
		if raw := c.at(name); name != "" && raw != nil && !jsontext.Value(raw).IsValid() {
			return mapping.Principal{}, badToken("A claim of the token contains half a surrogate pair or other text that is not valid JSON, so its caller cannot be distinguished from others.")
		}
	}
	subject := c.text(from.ID)
	if !isName(subject) {
		return mapping.Principal{}, badToken("The token does not identify its caller: the claim auth.jwt[].claims.id is missing or is not a string of up to 256 bytes.")
	}
	if from.Tenant != "" {
		if a.Tenant = c.text(from.Tenant); !isName(a.Tenant) {
			return mapping.Principal{}, badToken("The token does not identify its tenant: the claim auth.jwt[].claims.tenant is missing or is not a string of up to 256 bytes.")
		}
	}
	who := a.Principal(i.cfg.Name(subject))
	who.Rights = chosen(c, from.Rights, who.Rights)
	who.Rights = only(who.Rights)
	who.Agents = chosen(c, from.Agents, who.Agents)
	if from.Namespaces != "" {
		list := chosen(c, from.Namespaces, a.Namespaces)
		who.Namespaces = config.Access{Own: true, Namespaces: list}.Principal(who.ID).Namespaces
	}
	return who, nil
}

func isName(s string) bool { return s != "" && len(s) <= maxName && mapping.IsText(s) }

// chosen returns the list in a claim. Without a configured claim it returns usual, where nil means all. If the claim is
// missing, it returns a copy of usual that is never nil, so that it may mean none, but not all.
func chosen(c claims, name string, usual []string) []string {
	if name == "" {
		return usual
	}
	if list, there := c.list(name); there {
		return append([]string{}, list...)
	}
	return append([]string{}, usual...)
}

// only returns the known rights, since a scope may contain others. The right of the bridge's own tokens is excluded.
func only(rights []string) []string {
	if rights == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(rights), func(r string) bool { return !slices.Contains(mapping.Rights(), r) })
}
