package config

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

// keyCheck checks the keys of clients.
type keyCheck struct {
	*report
	agents  []string        // the configured names
	ids     map[string]bool // of the keys so far
	secrets map[Secret]bool
}

func (c keyCheck) check(at string, k Key) {
	c.checkID(at, k.ID)
	c.checkAccess(at, k.Access(), k.Scope, scopeTenant, scopeOwn)
	c.checkExpires(at+".expires", k.Expires)
	c.checkAllowance(at+".limits", k.Limits)
	if k.Key != "" || len(k.Keys) == 0 {
		c.checkSecret(at+".key", k.Key)
	}
	for i, one := range k.Keys {
		c.checkSecret(fmt.Sprintf("%s.keys[%d]", at, i), one)
	}
}

// minKey is the minimum length of a key. Shorter ones could be guessed.
const minKey = 16

func (c keyCheck) checkSecret(at string, key Secret) {
	sum, hashed := strings.CutPrefix(key.Reveal(), "sha256:")
	switch {
	case key == "":
		c.problem(at, "is missing; write env:NAME, file:PATH or sha256:HEX")
	case c.secrets[key]:
		c.problem(at, "is the same as a key above; keys must differ")
	case hashed && !isSHA256(sum):
		c.problem(at, "sha256: must be followed by 64 hexadecimal digits")
	case !hashed && len(key) < minKey:
		c.problem(at, "is shorter than %d characters and could be guessed; try openssl rand -hex 24", minKey)
	}
	c.secrets[key] = true
}

func isSHA256(s string) bool {
	b, err := hex.DecodeString(s)
	return err == nil && len(b) == 32
}

func (c keyCheck) checkAgentNames(at string, names []string) {
	for i, name := range names {
		if !slices.Contains(c.agents, name) {
			c.problem(fmt.Sprintf("%s[%d]", at, i), "there is no agent called %q; %s", name, suggest(name, c.agents))
		}
	}
}
