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
	"github.com/apbridge/apbridge/proxy/metrics"
	"github.com/apbridge/apbridge/proxy/trace"
	"github.com/gorilla/mux"
	"go.uber.org/zap"
)

// Options are what a Server is made of besides the configuration.
type Options struct {
	// Mount adds the routes of all dialects, as the first configuration has them.
	Mount func(r *mux.Router)
	// Faces are the dialects whose words requests are refused with.
	Faces []Face
	// Ready returns why the bridge cannot serve; nil: it always can. The text of an *mapping.Error is shown, other
	// errors are only logged.
	Ready func(ctx context.Context) error
	// Drain lets running work end until ctx is over and hands the rest over; nil: there is nothing to wait for.
	Drain func(ctx context.Context)
	// Hop is what this process calls itself in mapping.HopsHeader; "": it does not look.
	Hop string
	// Runs knows the tokens of runs; nil: there are none. Store reports whether a path is of the long-term store, which
	// is all that such a token opens.
	Runs  auth.Granter
	Store func(path string) bool
	// Limits bound what keys and tenants may use; nil: nothing does.
	Limits Limits
	// Audit has a line for each operation; nil: there is no such log. Does says what a route does, by its template and
	// by the path of the request; ok is false for what is no operation.
	Audit *audit.Log
	Does  func(method, route, path string) (op adapter.Effect, ok bool)
	// RunIn returns the id of the run that a path names, "" for none; nil: no path names one.
	RunIn func(path string) string
	// Metrics may be nil.
	Metrics *metrics.Metrics
	// Tracer may be nil.
	Tracer *trace.Tracer
	// Public are exact paths that take GET without a key: what they show is the same for every bridge of this version.
	Public map[string]http.Handler
	// Pages are exact paths that take GET without a key, too. What they show depends on the visitor: see VisitOf.
	Pages map[string]http.Handler
	// Browsed reports whether a path is of a page that people open with a key; nil: none is.
	Browsed func(path string) bool
	// On are the addresses, where they were taken before; nil: Listen takes them.
	On *Listeners
	// AdminRoutes are the routes of the admin listener. It may be nil.
	AdminRoutes *AdminRoutes
}

// Server is the bridge's HTTP server. Make it with New; Run it once.
type Server struct {
	refuser
	cfg         *config.Config // of the start
	opt         Options
	certificate *certificate // nil: without TLS
	strangers   *guard.UnknownOrigins
	times       times
	ops         operations
	door        *admissionGuard
	now         atomic.Pointer[served]
	http        *http.Server
	admin       *http.Server
	inside      map[string]http.Handler // further paths of the admin listener
	within      http.Handler            // answers by Options.Inside
	on          *Listeners
	cut         context.CancelCauseFunc // ends the contexts of all requests
}

// times are the bounds of a connection. A stream has no bound on the whole: it is cut when nothing moves.
type times struct {
	header  time.Duration // to send a request's header
	read    time.Duration // between two pieces of a body
	body    time.Duration // for all of a body that is no upload
	write   time.Duration // for a piece of an answer to be taken
	idle    time.Duration // between two requests
	room    time.Duration // to wait for memory for a body
	winding time.Duration // for running work to be handed over once the grace is past
}

var usualTimes = times{
	header:  10 * time.Second,
	read:    30 * time.Second,
	body:    5 * time.Minute,
	write:   time.Minute,
	idle:    2 * time.Minute,
	room:    5 * time.Second,
	winding: 2 * time.Second,
}

// maxHeader bounds a request's line and header, in bytes.
const maxHeader = 64 << 10

// ErrShutdown is the cause of request contexts that end because the bridge does.
var ErrShutdown = errors.New("the bridge is shutting down")

// New returns a Server; it does not listen yet.
func New(cfg *config.Config, o Options, log *zap.Logger) (*Server, error) {
	f := refuser{o.Faces, log, o.Metrics}
	ops := newOperations(f, o)
	s := &Server{refuser: f, cfg: cfg, opt: o, on: o.On, times: usualTimes, ops: ops, inside: map[string]http.Handler{}}
	s.door = &admissionGuard{refuser: f, ops: ops, grace: cfg.ShutdownGrace}
	s.door.connections.most = mostConnections(openFiles())
	var err error
	if s.within, err = s.insideRoutes(); err != nil {
		return nil, err
	}
	if s.strangers, err = guard.NewStrangers(log); err != nil {
		return nil, err
	}
	first, err := s.serve(cfg, o.Mount)
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

// guarded is the handler of what has passed the guards, in that order. They stand around the router, whose own
// middleware would miss what no route matches. Paths are judged before anything decides by path.
func (s *Server) guarded(h *served, routes *router) (http.Handler, error) {
	cfg, f, o := h.cfg, s.refuser, s.opt
	proxies, err := newTrustedProxies(cfg.TrustedProxies)
	if err != nil {
		return nil, err
	}
	seen := auditor{proxies, o.Audit}
	return &guarded{
		[]guard.Guard{requestID{}, &accessLog{f, s.ops, proxies, &s.times, o.Tracer, o.RunIn}},
		recoverer{f},
		[]guard.Guard{
			bodyGuard{f, cfg.Limits, &s.times},
			framingGuard{f},
			guard.Path(f),
			guard.Host(f, guard.NewHosts(cfg)),
			guard.Origin(f, cfg.CORS.Origins, s.strangers),
			&principalGuard{f, seen, h.gate, o.Public, o.Pages, o.Store, cfg.TLS.On(), o.Browsed},
			&auditGuard{f, seen, s.ops, o.Does},
			limitGuard{f, s.ops, o.Limits, h.connections},
			guard.Loop(f, o.Hop),
			s.door,
			&memoryGuard{f, s.ops, h.memory, o.Limits, &s.times, routeEffect{routes.mux, o.Does}},
		},
		&compression{routes},
	}, nil
}

// connectionShares returns what one key and one tenant may hold of the connections; nil: any number. A configuration
// with the same shares counts on in those of the one before, since streams stay open across a reload.
func (s *Server) connectionShares(cfg *config.Config) *shares {
	if s.door.connections.most == 0 {
		return nil
	}
	each := cfg.Auth.Share(s.door.connections.most, 1)
	if now := s.now.Load(); now != nil && now.connections != nil && now.connections.Share == each {
		return now.connections
	}
	return newShares(each)
}

// current answers each request by the configuration that is in use when it comes.
type current struct{ *Server }

func (c current) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.now.Load().handler.ServeHTTP(w, r)
}

func (s *Server) newHTTP() *http.Server {
	ctx, cut := context.WithCancelCause(context.Background())
	s.cut = cut
	ctx = adapter.WithLongLived(ctx, s.door.admission.last)
	return &http.Server{
		Handler:           current{s},
		ReadHeaderTimeout: s.times.header,
		IdleTimeout:       s.times.idle,
		MaxHeaderBytes:    maxHeader,
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ConnContext:       withHeads,
		ConnState:         s.door.connections.watch,
		// Every request is to pass the handler: framingGuard counts them.
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     stdlog.New(&complaints{log: s.log.Named("http")}, "", 0),
	}
}

// Listen takes the configured addresses, so that Addr is known before Run. It does nothing where Options brought them.
func (s *Server) Listen() (err error) {
	if s.on == nil {
		s.on, err = Listen(s.cfg)
	}
	return err
}

// Addr returns the address where the server listens. Listen must have been called.
func (s *Server) Addr() string { return s.on.public.Addr().String() }

// URL returns the URL that clients call the server by. Listen must have been called.
func (s *Server) URL() string {
	if s.certificate != nil {
		return "https://" + s.Addr()
	}
	return "http://" + s.Addr()
}

// Run serves until ctx ends, then drains: new requests are refused, running ones and the work behind them get
// shutdown_grace to end, and what is left is cut off. It returns nil after that, at most 3 seconds past the grace.
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

// public is the listener for clients, with TLS where there is a certificate.
func (s *Server) public() net.Listener {
	if s.certificate == nil {
		return framedListener{s.on.public}
	}
	return newTLSListener(s.on.public, s.certificate.config(), s.times.header, &s.door.connections)
}

// Close cuts off everything at once. It may be called at any time, and again.
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
