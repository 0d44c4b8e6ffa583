package proxy

import (
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
)

const codeHost = "host_not_allowed"

// hosts are the names the bridge answers to. On a loopback listener others are
// refused: a web page whose name was pointed at 127.0.0.1 would otherwise be
// same-origin with the bridge (DNS rebinding).
type hosts struct {
	guarded bool
	names   map[string]bool
}

func newHosts(cfg *config.Config) hosts {
	h := hosts{guarded: config.Loopback(cfg.Listen), names: map[string]bool{"localhost": true}}
	for _, name := range cfg.Hosts {
		h.names[strings.ToLower(name)] = true
	}
	return h
}

// allow judges a Host header. No Host at all (HTTP/1.0) comes from no browser.
func (h hosts) allow(host string) bool {
	if !h.guarded || host == "" {
		return true
	}
	name := host
	if bare, _, err := net.SplitHostPort(host); err == nil {
		name = bare
	}
	name = strings.TrimSuffix(strings.ToLower(strings.Trim(name, "[]")), ".")
	if ip, err := netip.ParseAddr(name); err == nil {
		return ip.Unmap().IsLoopback()
	}
	return h.names[name] || strings.HasSuffix(name, ".localhost")
}

// hostGuard refuses requests for other names.
type hostGuard struct {
	refuser
	hosts hosts
}

func (g hostGuard) pass(w http.ResponseWriter, r *http.Request) (*http.Request, bool) {
	if g.hosts.allow(r.Host) {
		return r, true
	}
	g.refuse(w, r, mapping.Errorf(mapping.Forbidden, codeHost,
		"This bridge listens on loopback and does not know itself by the name in the Host header. Call it localhost or 127.0.0.1, or add the name to hosts in its configuration."))
	return nil, false
}
