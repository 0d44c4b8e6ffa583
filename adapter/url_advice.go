package adapter

import (
	"fmt"
	"net/url"
	"strings"
)

// URLAdvice returns advice where a server answers below an agent's URL, but not as an agent does. Most servers are
// named without a path, so that a URL with one is suggested again without it.
func (u Upstream) URLAdvice() string {
	at, err := url.Parse(u.Config.URL)
	if err != nil || strings.Trim(at.Path, "/") == "" {
		return fmt.Sprintf("Check agents.%s.url", u.Name)
	}
	return fmt.Sprintf("Check agents.%s.url (most agents are named without a path, which is %s://%s here)", u.Name, at.Scheme, at.Host)
}
