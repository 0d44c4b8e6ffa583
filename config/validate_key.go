package config

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

// keyCheck is about the keys of clients, one after the other.
type keyCheck struct {
	*report
	agents  []string        // the names of those that are configured
	ids     map[string]bool // of the keys so far
	secrets map[Secret]bool
}

func (c keyCheck) check(at string, k Key) {
	switch {
	case k.ID == "":
		c.complain(at+".id", "is missing; the id stands in logs in the key's place")
	case c.ids[k.ID]:
		c.complain(at+".id", "%q is taken by a key above; ids must differ", k.ID)
	}
	c.checkText(at+".id", k.ID)
	c.checkText(at+".tenant", k.Tenant)
	c.checkSecret(at+".key", k.Key)
	c.checkAgentNames(at+".agents", k.Agents)
	c.atLeast(at+".queue", int64(k.Queue), 0)
	c.checkRights(at+".rights", k.Rights)
	c.checkNamespaces(at+".namespaces", k.Namespaces)
	c.ids[k.ID], c.secrets[k.Key] = true, true
}

// checkRights refuses rights that this version does not know: a key could do more, or
// less, than is written.
func (c keyCheck) checkRights(at string, rights []string) {
	for i, r := range rights {
		if r != "metrics" {
			c.complain(fmt.Sprintf("%s[%d]", at, i), "there is no right called %q in this version; write metrics for a key that reads /metrics and nothing else, or leave rights out", r)
		}
	}
}

func (c keyCheck) checkNamespaces(at string, namespaces []string) {
	for i, ns := range namespaces {
		if c.checkText(fmt.Sprintf("%s[%d]", at, i), ns); !namespaceLabels.MatchString(ns) {
			c.complain(fmt.Sprintf("%s[%d]", at, i), "cannot be %q; write labels parted by slashes, like users/alice", ns)
		}
	}
}

// minKey is the shortest key that is allowed: shorter ones can be guessed.
const minKey = 16

func (c keyCheck) checkSecret(at string, key Secret) {
	sum, hashed := strings.CutPrefix(key.Reveal(), "sha256:")
	switch {
	case key == "":
		c.complain(at, "is missing; write env:NAME, file:PATH or sha256:HEX")
	case c.secrets[key]:
		c.complain(at, "is the same as a key above; keys must differ")
	case hashed && !isSHA256(sum):
		c.complain(at, "sha256: wants 64 hexadecimal digits after it")
	case !hashed && len(key) < minKey:
		c.complain(at, "is shorter than %d characters and could be guessed; try openssl rand -hex 24", minKey)
	}
}

func isSHA256(s string) bool {
	b, err := hex.DecodeString(s)
	return err == nil && len(b) == 32
}

func (c keyCheck) checkAgentNames(at string, names []string) {
	for i, name := range names {
		if !slices.Contains(c.agents, name) {
			c.complain(fmt.Sprintf("%s[%d]", at, i), "there is no agent called %q; %s", name, suggest(name, c.agents))
		}
	}
}
