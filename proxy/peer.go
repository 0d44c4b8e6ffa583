package proxy

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/apbridge/apbridge/config"
)

// peers are the proxies whose X-Forwarded-For is believed, for the log and for the
// counting of wrong keys.
type peers []netip.Prefix

func newPeers(list []string) (peers, error) {
	var p peers
	for _, s := range list {
		network, err := config.ParseNetwork(s)
		if err != nil {
			return nil, err
		}
		p = append(p, network)
	}
	return p, nil
}

// client is the address of whoever sent the request: the peer, or what a
// trusted peer says, from the right as far as it is trusted.
func (p peers) client(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil || len(p) == 0 || !p.trusts(host) {
		return host
	}
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, hop := range slices.Backward(hops) {
		hop = strings.TrimSpace(hop)
		if _, err := netip.ParseAddr(hop); err != nil {
			break
		}
		if host = hop; !p.trusts(hop) {
			break
		}
	}
	return host
}

func (p peers) trusts(host string) bool {
	ip, err := netip.ParseAddr(host)
	return err == nil && slices.ContainsFunc(p, func(n netip.Prefix) bool { return n.Contains(ip.Unmap()) })
}
