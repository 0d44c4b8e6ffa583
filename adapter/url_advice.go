package adapter

import (
	"fmt"
	"net/url"
	"strings"
)

// URLAdvice returns advice for a server that responds below an agent's URL, but not like an agent. Most agents' URLs
// have no path, so for a URL with a path it also suggests the URL without it.
func (u Upstream) URLAdvice() string {
	at, err := url.Parse(u.Config.URL)
	if err != nil || strings.Trim(at.Path, "/") == "" {
		return fmt.Sprintf("Check agents.%s.url", u.Name)
	}
	return fmt.Sprintf("Check agents.%s.url (most agents are named without a path, which is %s://%s here)", u.Name, at.Scheme, at.Host)
}
