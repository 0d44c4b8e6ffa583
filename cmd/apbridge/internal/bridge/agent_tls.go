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

// sealOf takes a file that cannot be read for an empty one: the reader that needs it will fail.
func sealOf(files []string) string {
	sum := sha256.New()
	for _, file := range files {
		raw, _ := config.ReadFile(file)
		_, _ = fmt.Fprintf(sum, "%d ", len(raw)) // a digest takes all
		_, _ = sum.Write(raw)
	}
	return string(sum.Sum(nil))
}

// renewed are the keys of agents of which only what the files hold has changed.
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
