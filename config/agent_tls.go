package config

import (
	"crypto/tls"
	"errors"
	"strings"
)

// AgentTLS configures connections to an agent whose URL is https://. By default the system's authorities are used, and
// no client certificate is sent.
type AgentTLS struct {
	CA         string `yaml:"ca"`          // authorities in PEM, instead of the system's
	Cert       string `yaml:"cert"`        // client certificate in PEM
	Key        string `yaml:"key"`         // key of Cert
	ServerName string `yaml:"server_name"` // name in the agent's certificate; "" means the URL's host
}

// Files returns the configured files.
func (t AgentTLS) Files() (files []string) {
	for _, file := range []string{t.CA, t.Cert, t.Key} {
		if file != "" {
			files = append(files, file)
		}
	}
	return files
}

// Load reads the files into a TLS configuration, or returns nil if nothing is set.
func (t AgentTLS) Load() (*tls.Config, error) {
	c, _, err := t.load()
	return c, err
}

// load also returns the configuration key that an error concerns.
func (t AgentTLS) load() (c *tls.Config, key string, err error) {
	if t == (AgentTLS{}) {
		return nil, "", nil
	}
	c = &tls.Config{ServerName: t.ServerName}
	if t.CA != "" {
		if c.RootCAs, err = Authorities(t.CA); err != nil {
			return nil, "ca", err
		}
	}
	if t.Cert != "" {
		pair, err := KeyPair(t.Cert, t.Key)
		if err != nil {
			return nil, "cert", errors.New(strings.TrimPrefix(reason(err), "tls: "))
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, "", nil
}

// checkTLS requires a matching certificate and key, or neither, and an agent with TLS.
func (a agentCheck) checkTLS() {
	key, t := a.key+".tls", a.TLS
	a.lookedAt(t.Files()...)
	switch wrong, err := "", error(nil); {
	case t != (AgentTLS{}) && strings.HasPrefix(strings.ToLower(a.URL), "http://"):
		a.problem(key, "has no effect, because %s.url begins with http://; write https:// there, or leave this out", a.key)
	case t.Cert != "" && t.Key == "":
		a.problem(key+".key", "is missing; name the file with the key of %s.cert", key)
	case t.Cert == "" && t.Key != "":
		a.problem(key+".cert", "is missing; name the file with the certificate of %s.key", key)
	default:
		if _, wrong, err = t.load(); err != nil {
			a.problem(join(key, wrong), "cannot be used: %s; name files in PEM, and the key of the certificate", err)
		}
	}
}
