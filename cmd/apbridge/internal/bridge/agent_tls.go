package bridge

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"github.com/apbridge/apbridge/config"
)

// fileHashes holds digests of the files that an agent's tls settings name, by agent. An agent is dialled again if its
// digest changes, so that a renewed certificate needs no restart.
type fileHashes map[string]string

func fileHashesOf(cfg *config.Config) fileHashes {
	s := fileHashes{}
	for name, agent := range cfg.Agents {
		if files := agent.TLS.Files(); len(files) > 0 {
			s[name] = sealOf(files)
		}
	}
	return s
}

// sealOf treats an unreadable file like an empty one, because using the file will fail anyway.
func sealOf(files []string) string {
	sum := sha256.New()
	for _, file := range files {
		raw, _ := config.ReadFile(file)
		_, _ = fmt.Fprintf(sum, "%d ", len(raw)) // Write of a hash never fails
		_, _ = sum.Write(raw)
	}
	return string(sum.Sum(nil))
}

// renewed returns the keys of agents whose files have changed, but not their settings.
func (s fileHashes) renewed(next fileHashes, changed []string) (keys []string) {
	for name, seal := range next {
		key := "agents." + name + ".tls"
		told := slices.ContainsFunc(changed, func(other string) bool { return strings.HasPrefix(other, key) })
		if before, had := s[name]; had && before != seal && !told {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}
