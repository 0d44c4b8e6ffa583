package proxy

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/apbridge/apbridge/config"
)

// trustedProxies are the proxies whose X-Forwarded-For is trusted, for the log and for counting wrong keys.
type trustedProxies []netip.Prefix

func newTrustedProxies(list []string) (trustedProxies, error) {
	var p trustedProxies
	for _, s := range list {
		network, err := config.ParseNetwork(s)
		if err != nil {
			return nil, err
		}
		p = append(p, network)
	}
	return p, nil
}

// client returns the address of the request's sender: the peer, or the address reported by a trusted peer, read from
// the right as far as the proxies are trusted. The same address always has the same spelling.
func (p trustedProxies) client(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil || len(p) == 0 || !p.trusts(host) {
		return host
	}
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, hop := range slices.Backward(hops) {
		ip, err := netip.ParseAddr(strings.TrimSpace(hop))
		if err != nil || ip.Zone() != "" { // a zone is arbitrary text without a meaning here
			break
		}
		if host = ip.Unmap().String(); !p.trusts(host) {
			break
		}
	}
	return host
}

func (p trustedProxies) trusts(host string) bool {
	ip, err := netip.ParseAddr(host)
	return err == nil && slices.ContainsFunc(p, func(n netip.Prefix) bool { return n.Contains(ip.Unmap()) })
}
