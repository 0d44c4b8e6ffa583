package main

import (
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/bridge"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"go.uber.org/zap"
)

const (
	// doctorPatience is how long one agent may take to answer.
	doctorPatience = 15 * time.Second
	// timedCalls is how many calls are timed, of which the median is told.
	timedCalls = 5
)

// finding is what was found out about one agent.
type finding struct {
	name, url string
	dialect   string // that it speaks
	asked     bool   // that had to be found out
	profile   string
	version   string // of its server; "" where that does not say
	traits    adapter.Traits
	took      time.Duration // of a call that only reads
	hints     []string      // what may stand there instead of an agent, and where the agent may be
	err       error
}

func examineOne(ctx context.Context, name string, cfg *config.Config) finding {
	ctx, stop := context.WithTimeout(ctx, doctorPatience)
	defer stop()
	c := cfg.Agents[name]
	f := finding{name: name, url: c.URL, dialect: c.Dialect}
	if c.Dialect == "auto" {
		f.asked = true
		if f.dialect, f.err = detected(ctx, name, c, cfg.Limits); f.err != nil {
			f.hints = hints(ctx, name, c, cfg.Limits, f.err)
			return f
		}
		c.Dialect = f.dialect
	}
	b, err := bridge.Dialects().Dial(upstream(name, c, cfg.Limits))
	if err != nil {
		f.err = err
		return f
	}
	if f.probe(ctx, b); f.err != nil {
		f.hints = hints(ctx, name, c, cfg.Limits, f.err)
	}
	if about, ok := b.(adapter.Profiled); ok && f.err == nil {
		if f.profile = about.Profile(); f.profile == "" {
			f.err = mapping.Errorf(mapping.Upstream, mapping.CodeBadUpstream,
				"A server answers at %s, but not as an agent that speaks %s does. Check agents.%s.url and agents.%s.dialect.", c.URL, c.Dialect, name, name)
			f.hints = hints(ctx, name, c, cfg.Limits, f.err)
		}
	}
	return f
}

// probe asks an agent whether it is there, and how long that takes.
func (f *finding) probe(ctx context.Context, b adapter.Backend) {
	if t, ok := b.(adapter.Traited); ok {
		f.traits = t.Traits()
	}
	probe, ok := b.(adapter.Prober)
	if !ok {
		return
	}
	if f.err = probe.Probe(ctx); f.err != nil {
		return
	}
	var took []time.Duration
	for range timedCalls {
		began := time.Now()
		if f.err = probe.Probe(ctx); f.err != nil {
			return
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	f.took = took[timedCalls/2]
}

var plainVersion = regexp.MustCompile(`^[\w.+-]{1,40}$`)

// askVersion asks a healthy agent for its server's version, which GET /info tells of a LangGraph
// server (Agent Server API, System, "Server Information"); version 1 has no word for it.
func (f *finding) askVersion(ctx context.Context) {
	if f.err != nil {
		return
	}
	_, _, body := look(ctx, briefClient(), strings.TrimRight(f.url, "/")+"/info")
	var info struct {
		Version string `json:"version"`
	}
	if json.Unmarshal(body, &info) == nil && plainVersion.MatchString(info.Version) {
		f.version = info.Version
	}
}

func upstream(name string, c config.Agent, limits config.Limits) adapter.Upstream {
	secure, _ := c.TLS.Load() // it was found to be right when the configuration was read
	return adapter.Upstream{Name: name, Config: c, Limits: limits, TLS: secure, Log: zap.NewNop(), Agent: "apbridge/" + bridge.Version()}
}

// detected asks which dialect an agent speaks.
func detected(ctx context.Context, name string, c config.Agent, limits config.Limits) (string, error) {
	found := ""
	var list []adapter.Dialect
	for _, d := range bridge.Dialects().Callable() {
		dial := d.Dial
		d.Dial = func(up adapter.Upstream) (adapter.Backend, error) {
			found = d.Name
			return dial(up)
		}
		list = append(list, d)
	}
	_, err := adapter.NewAuto(upstream(name, c, limits), list).Resolve(ctx)
	return found, err
}
