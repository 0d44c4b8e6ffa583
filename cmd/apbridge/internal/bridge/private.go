package bridge

import (
	"path/filepath"

	"github.com/apbridge/apbridge/config"
)

// Private adapts cfg for a bridge that only this process uses, with its database in folder, and returns it.
func Private(cfg *config.Config, folder string) *config.Config {
	c := *cfg
	c.Listen, c.Admin, c.Database = "127.0.0.1:0", "", filepath.Join(folder, RunDatabase)
	c.Auth, c.CORS, c.Hosts, c.TLS = config.Auth{}, config.CORS{}, nil, config.TLS{}
	return &c
}
