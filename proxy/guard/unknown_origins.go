package guard

import (
	"fmt"

	lru "github.com/hashicorp/golang-lru/v2"
	"go.uber.org/zap"
)

const (
	originsKept    = 256 // bounds the remembered origins, since clients can invent any number
	strangerLength = 200 // maximum length of a logged origin
)

// UnknownOrigins remembers refused origins. Each is logged once, because a browser reports only "Failed to fetch" to
// its page. Safe for concurrent use.
type UnknownOrigins struct {
	seen *lru.Cache[string, struct{}]
	log  *zap.Logger
}

// NewUnknownOrigins returns UnknownOrigins that log to log.
func NewUnknownOrigins(log *zap.Logger) (*UnknownOrigins, error) {
	seen, err := lru.New[string, struct{}](originsKept)
	return &UnknownOrigins{seen: seen, log: log}, err
}

// meet logs a new origin, with the setting that would allow it.
func (s *UnknownOrigins) meet(origin string) {
	if _, ok := pageHost(origin); !ok || len(origin) > strangerLength {
		return // not a page that could be allowed
	}
	if known, _ := s.seen.ContainsOrAdd(origin, struct{}{}); known {
		return
	}
	s.log.Warn(fmt.Sprintf("a web page from %s was refused. To allow pages of this origin, start with --cors-origin %s, or add to the configuration: cors: {origins: [%q]}",
		origin, origin, origin), zap.String("origin", origin))
}
