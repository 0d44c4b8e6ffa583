package config

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// Loopback reports whether addr (host:port) is only reachable from this machine.
func Loopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// netCheck checks the listeners and their callers.
type netCheck struct {
	*report
	cfg *Config
}

func (n netCheck) check() {
	n.checkListen()
	n.checkHosts()
	n.checkOrigins()
	n.checkTLS()
}

func (n netCheck) checkListen() {
	n.checkAddress("listen", n.cfg.Listen)
	if !Loopback(n.cfg.Listen) && !n.cfg.Auth.On() {
		n.problem("listen", "%s can be reached from other machines, but auth.keys is empty, so everybody there could use the agents; listen on 127.0.0.1, or add a key", n.cfg.Listen)
	}
	if n.cfg.Admin == "" {
		return
	}
	n.checkAddress("admin", n.cfg.Admin)
	if !Loopback(n.cfg.Admin) {
		n.problem("admin", "%s can be reached from other machines; it shows the internals of the process, so keep it on 127.0.0.1", n.cfg.Admin)
	}
}

func (n netCheck) checkAddress(key, addr string) {
	_, port, err := net.SplitHostPort(addr)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		n.problem(key, "cannot be %q; write host:port, like 127.0.0.1:8080", addr)
	}
}

func (n netCheck) checkHosts() {
	for i, h := range n.cfg.Hosts {
		if h == "" || strings.ContainsAny(h, "/:*@ ") {
			n.problem(fmt.Sprintf("hosts[%d]", i), "cannot be %q; write a name without scheme and port, like bridge.local", h)
		}
	}
	for i, p := range n.cfg.TrustedProxies {
		if _, err := ParseNetwork(p); err != nil {
			n.problem(fmt.Sprintf("trusted_proxies[%d]", i), "cannot be %q; write an address or a network, like 10.0.0.0/8", p)
		}
	}
}

// ParseNetwork reads an address or a network in CIDR form.
func ParseNetwork(s string) (netip.Prefix, error) {
	if ip, err := netip.ParseAddr(s); err == nil {
		return ip.Prefix(ip.BitLen())
	}
	return netip.ParsePrefix(s)
}

func (n netCheck) checkOrigins() {
	for i, o := range n.cfg.CORS.Origins {
		key := fmt.Sprintf("cors.origins[%d]", i)
		switch {
		case o == "*":
			n.checkAnyOrigin(key)
		case o == "null":
			n.problem(key, `"null" is the origin of every sandboxed page and local file; name the origins to allow`)
		case o != LoopbackOrigins && !isOrigin(o):
			n.problem(key, "cannot be %q; write scheme://host[:port] in lower case and nothing after it, like http://localhost:3000, or loopback for all pages of this machine", o)
		}
	}
}

func (n netCheck) checkAnyOrigin(key string) {
	switch {
	case len(n.cfg.CORS.Origins) > 1:
		n.problem(key, `"*" allows every origin, so the others have no effect; keep "*" or the list`)
	case !n.cfg.Auth.On():
		n.problem(key, `"*" without auth.keys would let any web page in a browser on this machine use the agents; name the origins, or add a key`)
	}
}

// checkTLS requires both files of a matching pair, or neither. The listener watches these files itself. They only cause
// a reload of the configuration if they are unusable.
func (n netCheck) checkTLS() {
	switch t := n.cfg.TLS; {
	case t.Cert != "" && t.Key == "":
		n.problem("tls.key", "is missing; name the file with the key of tls.cert")
	case t.Cert == "" && t.Key != "":
		n.problem("tls.cert", "is missing; name the file with the certificate of tls.key")
	case t.Cert == "" && t.ClientCA != "":
		n.problem("tls.cert", "is missing; without it the bridge does not use TLS, and tls.client_ca has no effect")
	case t.On():
		n.checkAuthorities("tls.client_ca", t.ClientCA)
		if _, err := KeyPair(t.Cert, t.Key); err != nil {
			n.problem("tls.cert", "cannot be used with tls.key: %s", strings.TrimPrefix(err.Error(), "tls: "))
			n.lookedAt(t.Cert, t.Key)
		}
	}
}

// checkAuthorities requires a file of certificates, or none.
func (r *report) checkAuthorities(key, file string) {
	if file == "" {
		return
	}
	if _, err := Authorities(file); err != nil {
		r.lookedAt(file)
		r.problem(key, "%s cannot be used: %s; name a file with the certificates of authorities in PEM", file, err)
	}
}

func isOrigin(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" &&
		s == strings.ToLower(u.Scheme+"://"+u.Host) && !strings.Contains(u.Host, "*")
}
