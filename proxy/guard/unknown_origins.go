package guard

import (
	"fmt"

	lru "github.com/hashicorp/golang-lru/v2"
	"go.uber.org/zap"
)

const (
	strangersKept  = 256 // origins that are remembered: any number may be made up
	strangerLength = 200 // of an origin that is logged
)

// UnknownOrigins are the origins that were refused. Each is logged once: a browser tells its page "Failed to fetch" and
// nothing of the reason. Safe for concurrent use.
type UnknownOrigins struct {
	seen *lru.Cache[string, struct{}]
	log  *zap.Logger
}

// NewStrangers returns Strangers that log to log.
func NewStrangers(log *zap.Logger) (*UnknownOrigins, error) {
	seen, err := lru.New[string, struct{}](strangersKept)
	return &UnknownOrigins{seen: seen, log: log}, err
}

// meet logs an origin that is met for the first time, with the line that lets it in.
func (s *UnknownOrigins) meet(origin string) {
	if _, ok := pageHost(origin); !ok || len(origin) > strangerLength {
		return // not a page's that could be let in
	}
	if known, _ := s.seen.ContainsOrAdd(origin, struct{}{}); known {
		return
	}
	s.log.Warn(fmt.Sprintf("a web page from %s was refused. To let its pages in, start with --cors-origin %s, or add to the configuration: cors: {origins: [%q]}",
		origin, origin, origin), zap.String("origin", origin))
}
