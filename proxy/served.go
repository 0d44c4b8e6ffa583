package proxy

import (
	"context"
	"net/http"

	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/proxy/auth"
	"github.com/gorilla/mux"
)

// served is what answers requests by one configuration. It is replaced as a whole: a request is answered by the one
// that it began with.
type served struct {
	cfg     *config.Config
	handler http.Handler
	gate    *auth.Gate
	memory  *bodyMemory

	connections *shares // of connections; nil: any number
}

func (s *Server) serve(cfg *config.Config, mount func(*mux.Router)) (h *served, err error) {
	h = &served{cfg: cfg, memory: s.memoryFor(cfg), connections: s.connectionShares(cfg)}
	callers, err := auth.NewCallers(cfg.Auth, s.log.Named("auth"))
	if err != nil {
		return nil, err
	}
	if h.gate, err = auth.NewGate(callers, s.opt.Runs); err != nil {
		return nil, err
	}
	routes := newRouter(s.refuser, s.ops, mount)
	h.handler, err = s.guarded(h, routes)
	return h, err
}

// memoryFor is the memory that bodies share already, where as much of it may be used as before, by all and by each.
// Else the bodies under way are counted in the memory of their own.
func (s *Server) memoryFor(cfg *config.Config) *bodyMemory {
	total := int64(cfg.Limits.RequestMemory)
	each := cfg.Auth.Share(total, int64(cfg.Limits.Body))
	if now := s.now.Load(); now != nil && now.cfg.Limits.RequestMemory == cfg.Limits.RequestMemory && now.memory.shares.Share == each {
		return now.memory
	}
	return newBodyMemory(total, each)
}

// Reconfigure prepares for another configuration, with the routes that mount adds. From use on that answers new
// requests; those under way end at once where their key is no longer good. Where the server listens, its certificate
// and the times of its shutdown stay what they are. A configuration that leaves no caller is refused.
func (s *Server) Reconfigure(cfg *config.Config, mount func(*mux.Router)) (use func(), err error) {
	next, err := s.serve(cfg, mount)
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
