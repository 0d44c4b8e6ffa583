package agent

import (
	"fmt"
	"net/url"
	"strings"
)

// Address reads a server's address, also with the protocol's paths after it, and returns it without them:
// http://host:port, with /agents/NAME for one agent of a bridge.
func Address(text string) (string, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return "", fmt.Errorf("%q is no URL of a server, as http://127.0.0.1:8080 is", text)
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return "", fmt.Errorf("%q has more than a host and a path, which would not be sent; a key goes into BENCHMARK_KEY", u.Redacted())
	}
	base := strings.TrimRight(u.Scheme+"://"+u.Host+u.Path, "/")
	for _, tail := range []string{"/tasks", "/agent", "/ap/v1"} {
		base = strings.TrimSuffix(base, tail)
	}
	return base, nil
}
