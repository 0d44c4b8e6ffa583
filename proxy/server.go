package proxy

import (
	"context"
	"errors"
	stdlog "log"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/proxy/audit"
	"github.com/apbridge/apbridge/proxy/auth"
	"github.com/apbridge/apbridge/proxy/guard"
	"github.com/apbridge/apbridge/proxy/limit"
	"github.com/apbridge/apbridge/proxy/metrics"
	"github.com/apbridge/apbridge/proxy/trace"
	"github.com/gorilla/mux"
	"go.uber.org/zap"
)

// Options configure a Server, in addition to the configuration.
type Options struct {
	// Mount adds the routes of all dialects according to the first configuration.
	Mount func(r *mux.Router)
	// Faces are the dialects in whose form requests are refused.
	Faces []Face
	// Ready returns the reason why the bridge cannot serve, or nil. If Ready is nil, the bridge always can. The text of
	// a *mapping.Error is shown. Other errors are only logged.
	Ready func(ctx context.Context) error
	// Drain waits for running work until ctx ends, and hands over the rest. If it is nil, there is nothing to wait for.
	Drain func(ctx context.Context)
	// Hop is the name of this process in mapping.HopsHeader. If it is "", the header is not checked.
	Hop string
	// Runs knows the tokens of runs. It may be nil. Store reports whether a path belongs to the long-term store, which
	// is all that such a token may use.
	Runs  auth.Granter
	Store func(path string) bool
	// Limits limits the use by keys and tenants. It may be nil.
	Limits *limit.Limiter
	// Audit is the log of operations. It may be nil. Does returns the effect of a route, given its template and the
	// path of the request. ok is false if it is not an operation.
	Audit *audit.Log
	Does  func(method, route, path string) (op adapter.Effect, ok bool)
	// RunIn returns the id of the run in a path, or "" if there is none. It may be nil.
	RunIn func(path string) string
	// Metrics may be nil.
	Metrics *metrics.Metrics
	// Tracer may be nil.
	Tracer *trace.Tracer
	// Public are exact paths that accept GET without a key. Their contents are the same for every bridge of this
	// version.
	Public map[string]http.Handler
	// Pages are exact paths that also accept GET without a key. Their contents depend on the visitor: see VisitOf.
	Pages map[string]http.Handler
	// Browsed reports whether a path belongs to a page that people open in a browser with a key. It may be nil.
	Browsed func(path string) bool
	// On are open listeners. If it is nil, Listen opens them.
	On *Listeners
	// AdminRoutes are the routes of the admin listener. It may be nil.
	AdminRoutes *AdminRoutes
}

// Server is the bridge's HTTP server. It is created with New, and Run must be called only once.
type Server struct {
	refuser
	cfg            *config.Config // at the start
	opt            Options
	certificate    *certificate // nil without TLS
	unknownOrigins *guard.UnknownOrigins
	times          times
	ops            operations
	admission      *admissionGuard
	now            atomic.Pointer[activeConfig]
	http           *http.Server
	admin          *http.Server
	inside         map[string]http.Handler // further paths of the admin listener
	within         http.Handler            // handles Options.AdminRoutes
	on             *Listeners
	cut            context.CancelCauseFunc // ends the contexts of all requests
}

// times are the time limits of a connection. A stream has no limit for the whole. It is cut if nothing is transferred
// for a while.
type times struct {
	header  time.Duration // to send a request's header
	read    time.Duration // between two pieces of a body
	body    time.Duration // for a whole body that is not an upload
	write   time.Duration // for the client to accept a piece of a response
	idle    time.Duration // between two requests
	memory  time.Duration // to wait for memory of a body
	winding time.Duration // to hand over running work after the grace period
}

var usualTimes = times{
	header:  10 * time.Second,
	read:    30 * time.Second,
	body:    5 * time.Minute,
	write:   time.Minute,
	idle:    2 * time.Minute,
	memory:  5 * time.Second,
	winding: 2 * time.Second,
}

// maxHeader limits a request's line and header, in bytes.
const maxHeader = 64 << 10

// ErrShutdown is the cause of request contexts that end because the bridge shuts down.
var ErrShutdown = errors.New("the bridge is shutting down")

// New returns a Server. It does not listen yet.
func New(cfg *config.Config, o Options, log *zap.Logger) (*Server, error) {
	f := refuser{o.Faces, log, o.Metrics}
	ops := newOperations(f, o)
	s := &Server{refuser: f, cfg: cfg, opt: o, on: o.On, times: usualTimes, ops: ops, inside: map[string]http.Handler{}}
	s.admission = &admissionGuard{refuser: f, ops: ops, grace: cfg.ShutdownGrace}
	s.admission.connections.most = mostConnections(openFiles())
	s.within = s.insideRoutes()
	var err error
	if s.unknownOrigins, err = guard.NewUnknownOrigins(log); err != nil {
		return nil, err
	}
	first, err := s.activate(cfg, o.Mount)
	if err != nil {
		return nil, err
	}
	s.now.Store(first)
	if cfg.TLS.On() {
		if s.certificate, err = newCertificate(cfg.TLS, log); err != nil {
			return nil, err
		}
	}
	s.http = s.newHTTP()
	return s, nil
}

// guarded returns the handler with its guards, in their order. They are around the router, whose own middleware would
// not see requests without a matching route. Paths are checked before anything depends on them.
func (s *Server) guarded(h *activeConfig, routes *router) http.Handler {
	cfg, f, o := h.cfg, s.refuser, s.opt
	seen := auditor{h.proxies, o.Audit}
	return &guarded{
		[]guard.Guard{requestID{}, &accessLog{f, s.ops, h.proxies, &s.times, o.Tracer, o.RunIn}},
		recoverer{f},
		[]guard.Guard{
			bodyGuard{f, cfg.Limits, &s.times},
			framingGuard{f},
			guard.Path(f),
			guard.Host(f, guard.NewHosts(cfg)),
			guard.Origin(f, cfg.CORS.Origins, s.unknownOrigins),
			&principalGuard{f, seen, h.gate, o.Public, o.Pages, o.Store, cfg.TLS.On(), o.Browsed},
			&auditGuard{f, seen, s.ops, o.Does},
			limitGuard{f, s.ops, o.Limits, h.connections},
			guard.Loop(f, o.Hop),
			s.admission,
			&memoryGuard{f, s.ops, h.memory, o.Limits, &s.times, routeEffect{routes.mux, o.Does}},
		},
		&compression{routes},
	}
}

// connectionShares returns the shares of connections for one key and one tenant, or nil if there is no limit. A
// configuration with the same shares continues to use the previous ones, since streams stay open across a reload.
func (s *Server) connectionShares(cfg *config.Config) *shares {
	if s.admission.connections.most == 0 {
		return nil
	}
	each := cfg.Auth.Share(s.admission.connections.most, 1)
	if now := s.now.Load(); now != nil && now.connections != nil && now.connections.Share == each {
		return now.connections
	}
	return newShares(each)
}

func (s *Server) newHTTP() *http.Server {
	ctx, cut := context.WithCancelCause(context.Background())
	s.cut = cut
	ctx = adapter.WithLongLived(ctx, s.admission.requests.last)
	return &http.Server{
		Handler:           http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.now.Load().handler.ServeHTTP(w, r) }),
		ReadHeaderTimeout: s.times.header,
		IdleTimeout:       s.times.idle,
		MaxHeaderBytes:    maxHeader,
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ConnContext:       withHeads,
		ConnState:         s.admission.connections.watch,
		// Every request must reach the handler, because framingGuard counts them.
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     stdlog.New(&problems{log: s.log.Named("http")}, "", 0),
	}
}

// Listen opens the configured listeners, so that Addr is known before Run. It does nothing if Options had them.
func (s *Server) Listen() (err error) {
	if s.on == nil {
		s.on, err = Listen(s.cfg)
	}
	return err
}

// Addr returns the address where the server listens. Listen must have been called.
func (s *Server) Addr() string { return s.on.public.Addr().String() }

// URL returns the URL for clients. Listen must have been called.
func (s *Server) URL() string {
	if s.certificate != nil {
		return "https://" + s.Addr()
	}
	return "http://" + s.Addr()
}

// Run serves until ctx ends and then drains: it refuses new requests, and gives running ones and the work behind them
// shutdown_grace to end. The rest is cut off. After that Run returns nil, at most 3 seconds after the grace period.
func (s *Server) Run(ctx context.Context) error {
	if err := s.Listen(); err != nil {
		return err
	}
	failed := make(chan error, 2)
	go func() { failed <- s.http.Serve(s.public()) }()
	if s.on.admin != nil {
		s.admin = s.newAdmin()
		go func() { failed <- s.admin.Serve(s.on.admin) }()
	}
	select {
	case err := <-failed:
		return errors.Join(err, s.Close())
	case <-ctx.Done():
		s.drain()
		return s.Close()
	}
}

// public returns the listener for clients, with TLS if there is a certificate.
func (s *Server) public() net.Listener {
	if s.certificate == nil {
		return framedListener{s.on.public}
	}
	return newTLSListener(s.on.public, s.certificate.config(), s.times.header, &s.admission.connections)
}

// Close closes everything at once. It may be called at any time, and again.
func (s *Server) Close() error {
	s.cut(ErrShutdown)
	errs := []error{s.http.Close()}
	if s.admin != nil {
		errs = append(errs, s.admin.Close())
	}
	if s.on != nil {
		errs = append(errs, s.on.Close())
	}
	return errors.Join(errs...)
}
