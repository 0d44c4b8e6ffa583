package bridge

import (
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/proxy/store/seal"
)

// Keys returns the key ring of the database, or nil if there are no keys.
func Keys(cfg config.Encryption) (*seal.Ring, error) {
	keys, err := cfg.Bytes()
	if err != nil || len(keys) == 0 {
		return nil, err
	}
	return seal.New(keys, cfg.Write == "plain")
}
