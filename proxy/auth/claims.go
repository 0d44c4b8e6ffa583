package auth

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/go-json-experiment/json/jsontext"
)

// claims are what a token says.
type claims map[string]json.RawMessage

// at is the claim of a name or, with a slash before it, what the JSON pointer leads to (RFC 6901); nil: it is not
// there.
func (c claims) at(name string) json.RawMessage {
	path, isPointer := strings.CutPrefix(name, "/")
	if !isPointer {
		return c[name]
	}
	found, rest := json.RawMessage(nil), map[string]json.RawMessage(c)
	for part := range strings.SplitSeq(path, "/") {
		found = rest[strings.NewReplacer("~1", "/", "~0", "~").Replace(part)]
		rest = nil
		_ = json.Unmarshal(found, &rest) // what is no object holds nothing
	}
	return found
}

// text is a claim that is one text; "" for any other.
func (c claims) text(name string) (s string) {
	if json.Unmarshal(c.at(name), &s) != nil {
		return ""
	}
	return s
}

// list is a claim that is a list of texts, or one text with spaces between its words as scope has it (RFC 8693 section
// 4.2). there is false where there is no such claim.
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

// maxName bounds an id and a tenant that come from a token, in bytes: they stand in every row.
const maxName = 256

// principal is the principal of a token by its claims. A configured claim that is missing gives nothing, never
// everything.
func (i *issuer) principal(c claims) (mapping.Principal, error) {
	a, from := i.cfg.Access(), i.cfg.Claims
	for _, name := range []string{from.ID, from.Tenant, from.Rights, from.Agents, from.Namespaces} {
		if raw := c.at(name); name != "" && raw != nil && !jsontext.Value(raw).IsValid() {
			return mapping.Principal{}, badToken("A claim of the token holds half a surrogate pair, or other text that is no JSON, so that its caller cannot be told from others.")
		}
	}
	subject := c.text(from.ID)
	if !isName(subject) {
		return mapping.Principal{}, badToken("The token does not say who it is for: the claim auth.jwt[].claims.id is missing, or is no text of up to 256 bytes.")
	}
	if from.Tenant != "" {
		if a.Tenant = c.text(from.Tenant); !isName(a.Tenant) {
			return mapping.Principal{}, badToken("The token does not say of which tenant it is: the claim auth.jwt[].claims.tenant is missing, or is no text of up to 256 bytes.")
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

// chosen is what a claim lists. Without the claim it is what the issuer's tokens have anyhow, if that is named, and
// else nothing.
func chosen(c claims, name string, usual []string) []string {
	if name == "" {
		return usual
	}
	if list, there := c.list(name); there {
		return append([]string{}, list...)
	}
	return append([]string{}, usual...)
}

// only leaves the rights that there are: scopes hold others, too. A right of the bridge's own tokens is none.
func only(rights []string) []string {
	if rights == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(rights), func(r string) bool { return !slices.Contains(mapping.Rights(), r) })
}
