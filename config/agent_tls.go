package config

import (
	"crypto/tls"
	"errors"
	"strings"
)

// AgentTLS is how an agent is spoken to whose URL is https://. Without any of it the authorities of the system count,
// and no certificate is shown.
type AgentTLS struct {
	CA         string `yaml:"ca"`          // authorities in PEM, in the place of the system's
	Cert       string `yaml:"cert"`        // that the bridge shows, in PEM
	Key        string `yaml:"key"`         // of Cert
	ServerName string `yaml:"server_name"` // that the agent's certificate has to be for; "": the URL's host
}

// Files returns the files that it names.
func (t AgentTLS) Files() (files []string) {
	for _, file := range []string{t.CA, t.Cert, t.Key} {
		if file != "" {
			files = append(files, file)
		}
	}
	return files
}

// Load reads the files into a configuration; nil where nothing is set.
func (t AgentTLS) Load() (*tls.Config, error) {
	c, _, err := t.load()
	return c, err
}

// load also names the key that an error is about.
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

// checkTLS wants certificate and key, of one pair, or neither; and an agent that speaks TLS.
func (a agentCheck) checkTLS() {
	key, t := a.key+".tls", a.TLS
	a.lookedAt(t.Files()...)
	switch wrong, err := "", error(nil); {
	case t != (AgentTLS{}) && strings.HasPrefix(strings.ToLower(a.URL), "http://"):
		a.complain(key, "says nothing, since %s.url begins with http://; write https:// there, or leave this out", a.key)
	case t.Cert != "" && t.Key == "":
		a.complain(key+".key", "is missing; name the file with the key of %s.cert", key)
	case t.Cert == "" && t.Key != "":
		a.complain(key+".cert", "is missing; name the file with the certificate of %s.key", key)
	default:
		if _, wrong, err = t.load(); err != nil {
			a.complain(join(key, wrong), "cannot be used: %s; name files in PEM, and the key of the certificate", err)
		}
	}
}
