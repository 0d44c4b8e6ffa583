package config

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
)

// credentialLeast is how long a text has to be to be taken for a credential: shorter ones are parts of words.
const credentialLeast = 4

// Credentials are the texts with which the bridge is let in by the agent, in every spelling in which an agent may
// say them again, longest first: none is left over as a part of another.
func (a Agent) Credentials() []string {
	var list []string
	for name, value := range a.Headers {
		if value.IsOfPrincipal() {
			continue // the ids of principals are none
		}
		for _, part := range credentialParts(name, value.Reveal()) {
			list = append(list, spellings(part)...)
		}
	}
	list = slices.DeleteFunc(list, func(s string) bool { return len(s) < credentialLeast })
	slices.SortFunc(list, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	return slices.Compact(list)
}

// credentialParts are a header's value, what follows its scheme, the password of a Basic one and the values of cookies.
func credentialParts(name, value string) []string {
	parts := []string{value}
	scheme, credential, ok := strings.Cut(value, " ")
	if ok && !strings.EqualFold(name, "Cookie") {
		parts = append(parts, credential)
	}
	if pair, err := base64.StdEncoding.DecodeString(credential); ok && err == nil && strings.EqualFold(scheme, "Basic") {
		_, password, _ := strings.Cut(string(pair), ":")
		parts = append(parts, string(pair), password)
	}
	if strings.EqualFold(name, "Cookie") {
		for cookie := range strings.SplitSeq(value, ";") {
			_, content, _ := strings.Cut(cookie, "=")
			parts = append(parts, content)
		}
	}
	return parts
}

// spellings are a text as it is, in a URL and in JSON.
func spellings(text string) []string {
	text = strings.TrimSpace(text)
	list := []string{text, url.QueryEscape(text), url.PathEscape(text)}
	if quoted, err := json.Marshal(text); err == nil {
		list = append(list, strings.Trim(string(quoted), `"`))
	}
	var plain strings.Builder
	to := json.NewEncoder(&plain)
	to.SetEscapeHTML(false)
	if to.Encode(text) == nil {
		list = append(list, strings.Trim(strings.TrimSpace(plain.String()), `"`))
	}
	return list
}
