package webhook

import (
	"net/netip"
	"net/url"
	"strings"

	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"golang.org/x/net/http/httpguts"
)

// CheckTarget refuses a URL that can never be the target of a completion hook: Invalid for anything but http and https
// with a host and without user:password, for a host that the configuration does not allow, and, unless private networks
// are allowed, for a private address. The addresses of a name are only checked when connecting (publicAddr).
func CheckTarget(raw string, cfg config.Webhooks) error {
	if why := targetFault(raw, cfg); why != "" {
		return mapping.Errorf(mapping.Invalid, mapping.CodeInvalid, "webhook %s.", why)
	}
	return nil
}

// targetFault returns why a URL is refused, or "".
func targetFault(raw string, cfg config.Webhooks) string {
	u, err := url.Parse(raw)
	switch {
	case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "":
		return "must be an http or https URL with a host"
	case u.User != nil:
		return "must not contain a user name or password; put a token in its path or query instead"
	case !cfg.MayCall(u.Hostname()):
		return "names a host that this bridge does not call (webhooks.hosts)"
	case cfg.AllowPrivateNetworks:
		return ""
	}
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	addr, err := netip.ParseAddr(host)
	switch {
	case err == nil && !publicAddr(addr), host == "localhost", strings.HasSuffix(host, ".localhost"):
		return "names a private network, which this bridge does not call (webhooks.allow_private_networks)"
	case err != nil && endsInNumber(host):
		return "has an address in a form that is not accepted; write it as four decimal numbers"
	}
	return ""
}

// CheckHook refuses a hook if CheckTarget refuses its URL or if a secret cannot be part of a header. The field of the error
// (mapping.InvalidAt) is "hook.url", "hook.token", "hook.scheme" or "hook.credentials".
func CheckHook(h mapping.Hook, cfg config.Webhooks) error {
	if why := targetFault(h.URL, cfg); why != "" {
		return mapping.InvalidAt("hook.url", "%s.", why)
	}
	const valid = "must be a valid value of a header."
	switch {
	case !httpguts.ValidHeaderFieldValue(h.Token):
		return mapping.InvalidAt("hook.token", valid)
	case h.Scheme != "" && !httpguts.ValidHeaderFieldName(h.Scheme):
		return mapping.InvalidAt("hook.scheme", valid)
	case !httpguts.ValidHeaderFieldValue(h.Credentials):
		return mapping.InvalidAt("hook.credentials", valid)
	}
	return nil
}

// endsInNumber detects a host that some resolvers read as an IPv4 address, in decimal, octal or hexadecimal, with one
// to four parts (URL Standard, "ends in a number checker"). Resolvers differ in this.
func endsInNumber(host string) bool {
	last := host[strings.LastIndexByte(host, '.')+1:]
	if hex, ok := strings.CutPrefix(last, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return last != "" && strings.Trim(last, "0123456789") == ""
}

// publicAddr reports whether an address may belong to a host on the internet. Other addresses are loopback, private,
// link-local, shared, multicast, reserved, or contain an IPv4 address (IANA special-purpose address registries, RFC
// 6890).
func publicAddr(a netip.Addr) bool {
	a = a.Unmap()
	if !a.IsValid() || a.Zone() != "" || !a.IsGlobalUnicast() || a.IsPrivate() {
		return false
	}
	for _, p := range special {
		if p.Contains(a) {
			return false
		}
	}
	return true
}

// special are networks that net/netip treats as global unicast although they contain no hosts or stand for other
// addresses.
var special = prefixes(
	"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24",
	"203.0.113.0/24", "240.0.0.0/4",
	"::/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20", "5f00::/16", "fec0::/10",
)

func prefixes(list ...string) (out []netip.Prefix) {
	for _, p := range list {
		out = append(out, netip.MustParsePrefix(p))
	}
	return out
}
