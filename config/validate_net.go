package config

import (
	"crypto/tls"
	"encoding/hex"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// Loopback reports whether addr (host:port) can be reached from this machine only.
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

func (l *loader) checkListen() {
	l.checkAddress("listen", l.cfg.Listen)
	if !Loopback(l.cfg.Listen) && len(l.cfg.Auth.Keys) == 0 {
		l.complain("listen", "%s can be reached from other machines, but auth.keys is empty, so everybody there could use the agents; listen on 127.0.0.1, or add a key", l.cfg.Listen)
	}
	if l.cfg.Admin == "" {
		return
	}
	l.checkAddress("admin", l.cfg.Admin)
	if !Loopback(l.cfg.Admin) {
		l.complain("admin", "%s can be reached from other machines; it shows the inside of the process, so keep it on 127.0.0.1", l.cfg.Admin)
	}
}

func (l *loader) checkAddress(key, addr string) {
	_, port, err := net.SplitHostPort(addr)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		l.complain(key, "cannot be %q; write host:port, like 127.0.0.1:8080", addr)
	}
}

func (l *loader) checkHosts() {
	for i, h := range l.cfg.Hosts {
		if h == "" || strings.ContainsAny(h, "/:*@ ") {
			l.complain(fmt.Sprintf("hosts[%d]", i), "cannot be %q; write a name without scheme and port, like bridge.local", h)
		}
	}
	for i, p := range l.cfg.TrustedProxies {
		if _, err := ParseNetwork(p); err != nil {
			l.complain(fmt.Sprintf("trusted_proxies[%d]", i), "cannot be %q; write an address or a network, like 10.0.0.0/8", p)
		}
	}
}

// ParseNetwork reads an address, or a network in CIDR form.
func ParseNetwork(s string) (netip.Prefix, error) {
	if ip, err := netip.ParseAddr(s); err == nil {
		return ip.Prefix(ip.BitLen())
	}
	return netip.ParsePrefix(s)
}

func (l *loader) checkOrigins() {
	for i, o := range l.cfg.CORS.Origins {
		key := fmt.Sprintf("cors.origins[%d]", i)
		switch {
		case o == "*":
			l.checkAnyOrigin(key)
		case o == "null":
			l.complain(key, `"null" is what every sandboxed page and local file calls itself; name the origins that are meant`)
		case o != LoopbackOrigins && !isOrigin(o):
			l.complain(key, "cannot be %q; write scheme://host[:port] in lower case and nothing after it, like http://localhost:3000, or loopback for all pages of this machine", o)
		}
	}
}

func (l *loader) checkAnyOrigin(key string) {
	switch {
	case len(l.cfg.CORS.Origins) > 1:
		l.complain(key, `"*" allows every origin, so the others say nothing; keep "*" or the list`)
	case len(l.cfg.Auth.Keys) == 0:
		l.complain(key, `"*" without auth.keys would let any web page that is open in a browser here use the agents; name the origins, or add a key`)
	}
}

// checkTLS wants both files, of one pair, or neither.
func (l *loader) checkTLS() {
	switch t := l.cfg.TLS; {
	case t.Cert != "" && t.Key == "":
		l.complain("tls.key", "is missing; name the file with the key of tls.cert")
	case t.Cert == "" && t.Key != "":
		l.complain("tls.cert", "is missing; name the file with the certificate of tls.key")
	case t.On():
		if _, err := tls.LoadX509KeyPair(t.Cert, t.Key); err != nil {
			l.complain("tls.cert", "cannot be used with tls.key: %s", strings.TrimPrefix(reason(err), "tls: "))
		}
	}
}

func isOrigin(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" &&
		s == strings.ToLower(u.Scheme+"://"+u.Host) && !strings.Contains(u.Host, "*")
}

func (l *loader) checkAuth() {
	ids, keys := map[string]bool{}, map[Secret]bool{}
	for i, k := range l.cfg.Auth.Keys {
		at := fmt.Sprintf("auth.keys[%d]", i)
		switch {
		case k.ID == "":
			l.complain(at+".id", "is missing; the id stands in logs in the key's place")
		case ids[k.ID]:
			l.complain(at+".id", "%q is taken by a key above; ids must differ", k.ID)
		}
		l.checkText(at+".id", k.ID)
		l.checkText(at+".tenant", k.Tenant)
		l.checkKey(at+".key", k.Key, keys)
		l.checkKeyAgents(at+".agents", k.Agents)
		l.atLeast(at+".queue", int64(k.Queue), 0)
		l.checkRights(at+".rights", k.Rights)
		ids[k.ID], keys[k.Key] = true, true
	}
}

// checkText refuses a value that no database can keep as a text. YAML is UTF-8 in any case.
func (l *loader) checkText(at, s string) {
	if strings.Contains(s, "\x00") {
		l.complain(at, "holds U+0000, which cannot be stored; leave it out")
	}
}

// checkRights refuses rights that this version does not know: a key could do more, or
// less, than is written.
func (l *loader) checkRights(at string, rights []string) {
	for i, r := range rights {
		if r != "metrics" {
			l.complain(fmt.Sprintf("%s[%d]", at, i), "there is no right called %q in this version; write metrics for a key that reads /metrics and nothing else, or leave rights out", r)
		}
	}
}

// minKey is the shortest key that is allowed: shorter ones can be guessed.
const minKey = 16

func (l *loader) checkKey(at string, key Secret, taken map[Secret]bool) {
	sum, hashed := strings.CutPrefix(key.Reveal(), "sha256:")
	switch {
	case key == "":
		l.complain(at, "is missing; write env:NAME, file:PATH or sha256:HEX")
	case taken[key]:
		l.complain(at, "is the same as a key above; keys must differ")
	case hashed && !isSHA256(sum):
		l.complain(at, "sha256: wants 64 hexadecimal digits after it")
	case !hashed && len(key) < minKey:
		l.complain(at, "is shorter than %d characters and could be guessed; try openssl rand -hex 24", minKey)
	}
}

func isSHA256(s string) bool {
	b, err := hex.DecodeString(s)
	return err == nil && len(b) == 32
}

func (l *loader) checkKeyAgents(at string, names []string) {
	for i, name := range names {
		if _, ok := l.cfg.Agents[name]; !ok {
			l.complain(fmt.Sprintf("%s[%d]", at, i), "there is no agent called %q; %s", name, suggest(name, sortedNames(l.cfg.Agents)))
		}
	}
}
