package bridge

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/inspect"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/front"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy"
	"github.com/apbridge/apbridge/proxy/audit"
	"github.com/apbridge/apbridge/proxy/embedding"
	"github.com/apbridge/apbridge/proxy/engine"
	"github.com/apbridge/apbridge/proxy/eventlog"
	"github.com/apbridge/apbridge/proxy/limit"
	"github.com/apbridge/apbridge/proxy/logthrottle"
	"github.com/apbridge/apbridge/proxy/maintenance"
	"github.com/apbridge/apbridge/proxy/metrics"
	"github.com/apbridge/apbridge/proxy/service"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/apbridge/apbridge/proxy/store/item"
	"github.com/apbridge/apbridge/proxy/store/seal"
	"github.com/apbridge/apbridge/proxy/webhook"
	"github.com/gorilla/mux"
	"go.uber.org/zap"
)

// heartbeat keeps streams open through proxies that close silent ones.
const heartbeat = 15 * time.Second

// App is the whole bridge. Tests use it too, so they start the same program as users. open creates its parts in order.
type App struct {
	cfg      *config.Config // as of the start; engine.Config has the current one
	dialects adapter.Dialects
	log      *zap.Logger
	metrics  *metrics.Metrics
	calls    *front.Calls
	checkups *front.Checkups
	tracing  tracing

	listeners    *proxy.Listeners
	recording    recording
	dialer       *dialer
	auditLog     auditLog
	limits       *limits
	embeddings   *embedding.Client // nil if store items have no vectors
	store        *store.Store
	engine       *engine.Engine
	hooks        *webhook.Sender
	service      adapter.Service
	passthroughs passthroughs
	inspector    inspector
	server       *proxy.Server
	reloader     *reloader

	// troubles limits log lines about the database, because one cause can fail many requests.
	troubles logthrottle.Limiters
	serving  func()
}

// Option changes the bridge that New creates.
type Option func(*App)

// New binds the addresses and opens the database. Nothing is served or run yet. The program passes Dialects; tests may
// add more. The caller must call Close.
func New(ctx context.Context, cfg *config.Config, dialects adapter.Dialects, log *zap.Logger, options ...Option) (*App, error) {
	a := &App{cfg: cfg, dialects: dialects, log: log, metrics: metrics.New(), serving: func() {}}
	a.calls, a.checkups = front.NewCalls(a.metrics), front.NewCheckups()
	for _, o := range options {
		o(a)
	}
	if err := a.open(ctx); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
}

// open binds the addresses first. If that fails, the start leaves no database behind.
func (a *App) open(ctx context.Context) (err error) {
	if a.listeners, err = proxy.Listen(a.cfg); err != nil {
		return err
	}
	keys, indexed, err := a.openStore(ctx)
	if err != nil {
		return err
	}
	events, err := eventlog.New(a.store)
	if err != nil {
		return err
	}
	events.Measure(a.metrics.EventTold)
	hashes := fileHashesOf(a.cfg) // before the files are used, so that a reload notices later changes
	if err := a.makeEngine(events); err != nil {
		return err
	}
	a.addBackgroundWork(events, keys != nil, indexed)
	if a.service, err = service.New(a.store, events, a.engine, a.dialects, a.log); err != nil {
		return err
	}
	return a.openServer(hashes)
}

// openStore creates the meters of the database and opens it.
func (a *App) openStore(ctx context.Context) (keys *seal.Ring, indexed bool, err error) {
	journal, err := audit.Open(a.cfg.Audit, a.metrics, a.log.Named("audit"))
	if err != nil {
		return nil, false, err
	}
	a.auditLog = auditLog{a.dialects, journal}
	if keys, err = Keys(a.cfg.Encryption); err != nil {
		return nil, false, err
	}
	index, client, err := newIndex(a.cfg, a.log)
	if err != nil {
		return nil, false, err
	}
	a.embeddings = client
	allowed := limit.NewAllowances(a.cfg)
	if a.store, err = store.Open(ctx, a.cfg.Database, store.Options{
		Synchronous: a.cfg.Synchronous, SecureDelete: a.cfg.SecureDelete, Limit: int64(a.cfg.Limits.Database), Crons: a.cfg.Limits.Crons, Index: index, Committed: a.metrics.Committed,
		TTL:  item.TTL{Default: time.Duration(a.cfg.Store.TTL.Default) * time.Minute, RefreshOnRead: a.cfg.Store.TTL.RefreshOnRead},
		Keys: keys, Quotas: allowed.Quotas, Refused: a.metrics.Limited,
	}, a.log.Named("store")); err != nil {
		return nil, false, err
	}
	a.limits, err = newLimits(allowed, a.store, a.metrics.Limited, a.log)
	return keys, index != nil, err
}

// makeEngine creates the agents, the engine and the sender of webhooks, which do nothing yet.
func (a *App) makeEngine(events *eventlog.Log) error {
	a.dialer = &dialer{
		dialects: a.dialects, log: a.log, hop: "apbridge;id=" + mapping.NewID(), calls: a.calls, tracer: a.tracing.ofCalls(), record: a.recording,
	}
	agents, err := a.dialer.dialAll(a.cfg, nil, nil)
	if err != nil {
		return err
	}
	a.engine = engine.New(a.store, events, a.cfg, agents, meter{a.metrics}, a.dialects, a.log,
		engine.WithTracer(a.tracing.tracer), engine.WithRunLimit(a.limits.limiter.Runs), engine.WithAudit(a.auditLog.background()))
	a.hooks = webhook.New(a.store.Deliveries, a.store.Runs, a.cfg.Webhooks, userAgent(), a.metrics, a.log.Named("webhook"))
	a.hooks.Trace(a.tracing.tracer)
	measure(a.metrics, a.store, a.cfg, a.engine.Config)
	return nil
}

// addBackgroundWork registers the background work with the engine.
func (a *App) addBackgroundWork(events *eventlog.Log, sealed, indexed bool) {
	a.engine.AddBackground(maintenance.NewRetention(a.store.Retention, a.store.Runs, events, witnessed{a.engine, a.auditLog.log}, func() config.Retention { return a.engine.Config().Retention }, a.log))
	a.engine.AddBackground(maintenance.NewItems(a.store.ItemMaintenance, time.Duration(a.cfg.Store.TTL.Sweep)*time.Minute, a.log))
	if sealed {
		a.engine.AddBackground(maintenance.NewSealing(a.store.Sealing, a.store.ItemMaintenance, a.log))
	}
	if indexed {
		a.engine.AddBackground(maintenance.NewEmbeddings(a.store.ItemMaintenance, a.log))
	}
}

// openServer creates the server, which serves nothing yet. hashes are the file hashes of the agents.
func (a *App) openServer(hashes fileHashes) error {
	a.passthroughs = passthroughs{dialer: a.dialer, dialects: a.dialects, metrics: a.metrics, log: a.log}
	a.inspector = inspector{
		service: a.service, dialects: a.dialects, engine: a.engine, calls: a.calls, checkups: a.checkups, metrics: a.metrics, log: a.log, url: a.URL,
	}
	active, err := a.passthroughs.create(a.cfg, nil, nil)
	if err != nil {
		return err
	}
	pages, err := a.pages()
	if err != nil {
		return err
	}
	if a.server, err = proxy.New(a.cfg, a.serverOptions(a.routes(a.cfg, active), pages), a.log.Named("proxy")); err != nil {
		return err
	}
	a.reloader = &reloader{
		dialects: a.dialects, dialer: a.dialer, passthroughs: a.passthroughs, engine: a.engine, routes: a.routes, server: a.server, limits: a.limits, hooks: a.hooks,
		metrics: a.metrics, counted: a.metrics.Reloads(), log: a.log, hashes: hashes, active: active,
	}
	return nil
}

// routes adds the routes of a configuration, with the pass-through routes.
func (a *App) routes(cfg *config.Config, active routes) func(*mux.Router) {
	return func(r *mux.Router) {
		mount(r, a.dialects, a.service, func(d adapter.Dialect) adapter.Face { return a.face(d, cfg) })
		a.passthroughs.mount(r, active)
		a.inspector.mount(r, cfg)
	}
}

func (a *App) serverOptions(mount func(*mux.Router), pages map[string]http.Handler) proxy.Options {
	return proxy.Options{
		Mount:       mount,
		Faces:       faces(a.dialects, a.cfg),
		Runs:        a.engine,
		Store:       a.dialects.InStore,
		Ready:       a.store.Ping,
		Drain:       a.engine.Shutdown,
		Limits:      a.limits.limiter,
		Audit:       a.auditLog.log,
		Does:        a.auditLog.does,
		RunIn:       a.auditLog.runIn,
		Hop:         a.dialer.hop,
		Metrics:     a.metrics,
		Tracer:      a.tracing.tracer,
		Public:      documents(a.dialects),
		Pages:       pages,
		Browsed:     inspect.Owns,
		On:          a.listeners,
		AdminRoutes: &proxy.AdminRoutes{Owns: inspect.Owns, Mount: a.inspector.mountInside},
	}
}

func (a *App) face(d adapter.Dialect, cfg *config.Config) adapter.Face {
	var section any
	if d.Section != nil {
		section = d.Section(cfg)
	}
	return adapter.Face{
		Log: a.log.Named(d.Name), Limits: cfg.Limits, DefaultAgent: cfg.DefaultAgent, Agents: cfg.Agents, Section: section,
		URL: a.urlOf, ArtifactPath: a.dialects.ArtifactPath, Auth: authentication(cfg.Auth),
		Version: Version(), Heartbeat: heartbeat, Ready: a.store.Ping, CallerLimits: a.limits.Limits,
		Failed: func(code string) { a.metrics.Failed(d.Name, code) }, Repeated: a.repeated,
	}
}

// urlOf returns where the client of a request found the bridge.
func (a *App) urlOf(r *http.Request) string { return a.server.URLOf(r) }

func authentication(cfg config.Auth) adapter.Authentication {
	auth := adapter.Authentication{Keys: len(cfg.Keys) > 0, Certificates: len(cfg.Certificates) > 0}
	for _, issuer := range cfg.JWT {
		auth.Issuers = append(auth.Issuers, issuer.Issuer)
	}
	return auth
}

// repeated limits log lines about errors of the database to one per minute with a count. The access log has each
// response.
func (a *App) repeated(e *mapping.Error) (times int, due bool) {
	if e.Code != store.CodeUnavailable && e.Code != store.CodeStorageFull {
		return 1, true
	}
	return a.troubles.Allow(e.Code)
}

// Reload applies the configuration that load reads, except for keys that need a restart, and logs one line. An invalid
// configuration changes nothing. It is not safe for concurrent use.
func (a *App) Reload(load func() (*config.Config, error)) (config.Change, error) {
	return a.reloader.reload(load)
}

// Administer adds a path to the admin listener. It must be called before Run.
func (a *App) Administer(path string, h http.Handler) { a.server.Administer(path, h) }

// OnServing registers a function that Run calls when the bridge is serving, in order of registration. It must be called
// before Run.
func (a *App) OnServing(f func()) {
	before := a.serving
	a.serving = func() { before(); f() }
}

// URL returns the address of the bridge.
func (a *App) URL() string { return a.server.URL() }

// Inspector returns the address of the inspector for a browser on this machine. It is "" if it is not served with the
// clients' routes.
func (a *App) Inspector() string {
	at, err := url.Parse(a.URL())
	if err != nil || a.cfg.Inspector.Mode != inspectorAuto {
		return ""
	}
	if ip, err := netip.ParseAddr(at.Hostname()); err == nil && ip.IsUnspecified() {
		at.Host = net.JoinHostPort("127.0.0.1", at.Port())
	}
	return at.JoinPath(inspect.Root).String()
}

// Run recovers the runs of an earlier process, then serves until ctx ends and the bridge has drained. Connections wait
// until Run is called.
func (a *App) Run(ctx context.Context) error {
	logConfiguration(a.log, a.cfg)
	if err := a.engine.Start(ctx); err != nil {
		return a.unstarted(ctx, err)
	}
	defer a.tracing.flushed(ctx, a.cfg.ShutdownGrace)()
	defer a.deliver()()
	a.log.Info("serving", zap.String("url", a.URL()), zap.String("process", a.store.Owner()), zap.String("inspector", a.Inspector()), zap.Int("agents", len(a.cfg.Agents)), zap.String("version", Version()))
	a.serving()
	defer context.AfterFunc(ctx, func() {
		a.log.Info("shutting down; waiting for running work", zap.Duration("shutdown_grace", a.cfg.ShutdownGrace))
	})()
	err := a.server.Run(ctx)
	a.log.Info("stopped", zap.Error(err))
	return err
}

// unstarted hands over recovered runs after a failed start. A stop in the meantime is not a failure.
func (a *App) unstarted(ctx context.Context, err error) error {
	a.Abandon()
	if ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("picking up earlier runs: %w", err)
}

// Abandon hands over the active runs without waiting.
func (a *App) Abandon() {
	at, stop := context.WithCancel(context.Background())
	stop()
	a.engine.Shutdown(at)
}

// deliver sends webhooks until stop is called, after the bridge has drained, so that the last ends are also delivered.
func (a *App) deliver() (stop func()) {
	ctx, cancel := context.WithCancel(mapping.WithAuditRecord(context.Background(), a.auditLog.background()))
	done := make(chan struct{})
	go func() {
		defer close(done)
		a.hooks.Run(ctx)
	}()
	return func() {
		cancel()
		<-done
	}
}

// Close releases the listener and the database. It may be called after a failed start.
func (a *App) Close() error {
	var errs []error
	if a.server != nil {
		errs = append(errs, a.server.Close())
	}
	if a.listeners != nil {
		errs = append(errs, a.listeners.Close())
	}
	if a.embeddings != nil {
		a.embeddings.CloseIdle()
	}
	if a.store != nil {
		errs = append(errs, a.store.Close())
	}
	a.tracing.sendLast(0)
	return errors.Join(append(errs, a.auditLog.log.Close())...)
}
