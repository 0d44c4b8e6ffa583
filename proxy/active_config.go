package proxy

import (
	"context"
	"net/http"

	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/proxy/auth"
	"github.com/gorilla/mux"
)

// activeConfig answers requests according to one configuration. It is replaced as a whole: each request is answered by the
// one with which it began.
type activeConfig struct {
	cfg     *config.Config
	handler http.Handler
	gate    *auth.Gate
	proxies trustedProxies
	memory  *bodyMemory

	connections *shares // nil if there is no limit
}

func (s *Server) activate(cfg *config.Config, mount func(*mux.Router)) (h *activeConfig, err error) {
	h = &activeConfig{cfg: cfg, memory: s.memoryFor(cfg), connections: s.connectionShares(cfg)}
	if h.proxies, err = newTrustedProxies(cfg.TrustedProxies); err != nil {
		return nil, err
	}
	callers, err := auth.NewCallers(cfg.Auth, s.log.Named("auth"))
	if err != nil {
		return nil, err
	}
	if h.gate, err = auth.NewGate(callers, s.opt.Runs); err != nil {
		return nil, err
	}
	h.handler = s.guarded(h, newRouter(s.refuser, s.ops, mount))
	return h, nil
}

// memoryFor returns the current memory of bodies if the limits for all and for each are unchanged. Otherwise it returns
// a new one, and bodies in progress are counted separately.
func (s *Server) memoryFor(cfg *config.Config) *bodyMemory {
	total := int64(cfg.Limits.RequestMemory)
	each := cfg.Auth.Share(total, int64(cfg.Limits.Body))
	if now := s.now.Load(); now != nil && now.cfg.Limits.RequestMemory == cfg.Limits.RequestMemory && now.memory.shares.Share == each {
		return now.memory
	}
	return newBodyMemory(total, each)
}

// Reconfigure prepares for another configuration, with the routes that mount adds. Once use is called, the new
// configuration applies to new requests, and requests in progress end at once if their key is no longer valid. The
// addresses, the certificate and the times of shutdown do not change. A configuration without any caller is refused.
func (s *Server) Reconfigure(cfg *config.Config, mount func(*mux.Router)) (use func(), err error) {
	next, err := s.activate(cfg, mount)
	if err != nil {
		return nil, err
	}
	if err := s.now.Load().gate.Replaceable(context.Background(), next.gate); err != nil {
		return nil, err
	}
	return func() {
		next.gate.Succeed(s.now.Load().gate)
		s.now.Store(next)
	}, nil
}
