package config

import (
	"fmt"
	"net/netip"
	"regexp"
	"strings"
)

// MayCall reports whether a webhook may call a host, which is a name or an address without a port. It must be one of
// Hosts, or below one of the form *.example.com. Case and a trailing dot are ignored.
func (w Webhooks) MayCall(host string) bool {
	if len(w.Hosts) == 0 {
		return true
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	for _, allowed := range w.Hosts {
		allowed = strings.ToLower(allowed)
		if below, any := strings.CutPrefix(allowed, "*"); any && strings.HasSuffix(host, below) || host == allowed {
			return true
		}
	}
	return false
}

// hookHost matches the name of a host, or all names below one.
var hookHost = regexp.MustCompile(`^(\*\.)?[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?(\.[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?)*$`)

func (r *report) checkWebhooks(w Webhooks) {
	for i, host := range w.Hosts {
		if _, err := netip.ParseAddr(host); err != nil && !hookHost.MatchString(host) {
			r.problem(fmt.Sprintf("webhooks.hosts[%d]", i), "cannot be %q; write a host without scheme and port, like hooks.example.com, or *.example.com for all below one", host)
		}
	}
	switch {
	case w.PreviousSecret != "" && w.Secret == "":
		r.problem("webhooks.previous_secret", "is used in addition to webhooks.secret, which is missing; write it there")
	case w.PreviousSecret != "" && w.PreviousSecret == w.Secret:
		r.problem("webhooks.previous_secret", "is the same as webhooks.secret; leave it out")
	}
}
