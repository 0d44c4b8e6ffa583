package bridge

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping/credential"
	"go.uber.org/zap"
)

// logConfiguration logs the merged configuration, because operators first need to know whether file, environment or
// flags took effect. It contains no secrets.
func logConfiguration(log *zap.Logger, c *config.Config) {
	log.Info("configuration in force",
		zap.String("listen", c.Listen), zap.String("admin", c.Admin), zap.String("database", withoutSecrets(c.Database)), zap.String("synchronous", c.Synchronous),
		zap.String("default_agent", c.DefaultAgent), zap.Int("keys", len(c.Auth.Keys)), zap.Int("issuers", len(c.Auth.JWT)), zap.Int("certificates", len(c.Auth.Certificates)), zap.Bool("tls", c.TLS.On()), zap.Strings("cors_origins", c.CORS.Origins),
		zap.Duration("shutdown_grace", c.ShutdownGrace), zap.Int64("limits_body", int64(c.Limits.Body)), zap.Int64("limits_database", int64(c.Limits.Database)),
		zap.String("store_index", c.Store.Index.Embed))
	for _, name := range slices.Sorted(maps.Keys(c.Agents)) {
		g := c.Agents[name]
		log.Info("agent", zap.String("agent", name), zap.String("url", withoutSecrets(g.URL)), zap.String("dialect", g.Dialect),
			zap.Int("concurrency", g.Concurrency), zap.Int("queue", g.Queue), zap.Duration("step_timeout", g.StepTimeout), zap.Duration("run_timeout", g.RunTimeout),
			zap.String("approval", g.Approval), zap.String("stepping", g.Stepping.Mode))
	}
}

// withoutSecrets returns a URL's scheme, host and path, without parts that may be secret. A file path is unchanged.
func withoutSecrets(text string) string {
	if !strings.Contains(text, "://") {
		return text
	}
	u, err := url.Parse(text)
	if err != nil {
		return credential.HiddenText
	}
	return u.Scheme + "://" + u.Host + u.Path
}
