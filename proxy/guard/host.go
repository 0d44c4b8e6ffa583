package guard

import (
	"net"
	"net/netip"
	"strings"

	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
)

// CodeHost is the code of refusals of a host.
const CodeHost = "host_not_allowed"

// Hosts are the names of the bridge. On a loopback listener other names are refused. Otherwise a web page whose name
// was pointed at 127.0.0.1 would be same-origin with the bridge (DNS rebinding).
type Hosts struct {
	Guarded bool
	names   map[string]bool
}

// NewHosts returns the names in a configuration.
func NewHosts(cfg *config.Config) Hosts {
	h := Hosts{Guarded: config.Loopback(cfg.Listen), names: map[string]bool{"localhost": true}}
	for _, name := range cfg.Hosts {
		h.names[strings.ToLower(name)] = true
	}
	return h
}

// Allow reports whether a Host header is allowed. A request without one (HTTP/1.0) does not come from a browser, and is
// allowed.
func (h Hosts) Allow(host string) bool {
	if !h.Guarded || host == "" {
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
	refuser Refuser
	hosts   Hosts
}

// Host returns a guard that refuses requests for names that are not the bridge's own.
func Host(f Refuser, h Hosts) Guard { return hostGuard{f, h} }

func (g hostGuard) Pass(x *Exchange) bool {
	if g.hosts.Allow(x.Request.Host) {
		return true
	}
	g.refuser.Refuse(x.Writer, x.Request, mapping.Errorf(mapping.Forbidden, CodeHost,
		"This bridge listens on loopback, and the name in the Host header is not one of its names. Call it localhost or 127.0.0.1, or add the name to hosts in its configuration."))
	return false
}
