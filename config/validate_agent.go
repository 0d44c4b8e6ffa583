package config

import (
	"fmt"
	"net"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
)

var (
	agentName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
	uuidShape = regexp.MustCompile(`^(?i)[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)
	// labels are text and {names}; only names may contain dots
	namespaceTemplate = regexp.MustCompile(`^([^/.{}]|\{[^/{}]+\})+(/([^/.{}]|\{[^/{}]+\})+)*$`)
	namespaceLabels   = regexp.MustCompile(`^[^/.{}]+(/[^/.{}]+)*$`)
	templateName      = regexp.MustCompile(`\{([^{}]*)\}`)
	knownName         = regexp.MustCompile(`^(((metadata|configurable)\.)?[^.]+|principal\.id)$`)
	headerName        = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")
)

// ownHeaders are set by the bridge or by the transport and cannot be configured. RFC 9110 section 7.6.1 lists those
// that concern a single connection.
var ownHeaders = []string{
	"Host", "Content-Length", "Content-Type", "Accept", "Connection", "Keep-Alive", "Proxy-Connection",
	"Te", "Trailer", "Transfer-Encoding", "Upgrade", "Idempotency-Key",
}

func (r *report) checkAgents(cfg *Config, dialects []string) {
	names := sortedNames(cfg.Agents)
	if len(names) == 0 {
		r.problem("agents", "there are no agents; add one below agents:, or with --agent NAME=URL")
	}
	for _, name := range names {
		agentCheck{r, "agents." + name, cfg.Agents[name], cfg.Listen, dialects}.check(name)
	}
	if d := cfg.DefaultAgent; d != "" && !slices.Contains(names, d) {
		r.problem("default_agent", "there is no agent called %q; %s", d, suggest(d, names))
	}
}

// agentCheck checks one agent of the configuration.
type agentCheck struct {
	*report
	key string // of the agent
	Agent
	listen   string   // address of this bridge
	dialects []string // Options.Dialects
}

func (a agentCheck) checkName(name string) {
	switch {
	case !agentName.MatchString(name):
		a.problem(a.key, "the name %q cannot be used; take 1 to 64 of A-Z a-z 0-9 _ -", name)
	case name == "search":
		a.problem(a.key, `an agent cannot be called "search", which is a route`)
	case uuidShape.MatchString(name):
		a.problem(a.key, "an agent's name cannot be a UUID, because assistants have UUIDs")
	}
}

// checkLoop refuses an agent that is this bridge itself. An indirect loop is detected at the first request
// (mapping.HopsHeader).
func (a agentCheck) checkLoop() {
	u, err := url.Parse(a.URL)
	host, port, err2 := net.SplitHostPort(a.listen)
	if err != nil || err2 != nil || port == "0" || u.Port() != port {
		return
	}
	if strings.EqualFold(u.Hostname(), host) || Loopback(u.Host) && (Loopback(a.listen) || host == "" || net.ParseIP(host).IsUnspecified()) {
		a.problem(a.key+".url", "is the address of this bridge (listen: %s), so each request would come back to it; write the agent's address", a.listen)
	}
}

func (a agentCheck) check(name string) {
	a.checkName(name)
	switch file, recorded := a.Recording(); {
	case a.URL == "":
		a.problem(a.key+".url", "is missing; write the agent's address")
	case recorded:
		a.checkRecording(name, file)
	default:
		a.checkURL(a.key+".url", a.URL)
		a.checkLoop()
	}
	if a.dialects != nil {
		a.oneOf(a.key+".dialect", a.Dialect, append([]string{"auto"}, a.dialects...)...)
	}
	a.checkHeaders(a.key+".headers", a.Headers)
	for _, name := range sortedNames(a.Headers) {
		a.checkPrincipalParts(join(a.key+".headers", name), a.Headers[name])
	}
	a.checkTLS()
	a.checkBounds()
	for i, p := range a.Artifacts.Exclude {
		if _, err := path.Match(p, ""); err != nil || p == "" {
			a.problem(fmt.Sprintf("%s.artifacts.exclude[%d]", a.key, i), "%q is not a pattern; write paths with * and ?, like build/*.log", p)
		}
	}
	a.checkMemory()
}

// checkMemory refuses a template that can never be expanded, and settings that have no effect without namespaces.
func (a agentCheck) checkMemory() {
	key, m := a.key+".memory", a.Memory
	for i, n := range m.Namespaces {
		at := fmt.Sprintf("%s.namespaces[%d]", key, i)
		if !namespaceTemplate.MatchString(n) {
			a.problem(at, "cannot be %q; write labels separated by slashes, like users/{user_id}", n)
			continue
		}
		for _, name := range templateName.FindAllStringSubmatch(n, -1) {
			if !knownName.MatchString(name[1]) {
				a.problem(at, "there is no field %s; write {metadata.NAME} for the thread's metadata, {configurable.NAME} for config.configurable, {NAME} for either, or {principal.id} for the caller's id", name[0])
			}
		}
	}
	a.atLeast(key+".max_bytes", int64(m.MaxBytes), 1)
	a.atLeast(key+".max_items", int64(m.MaxItems), 0)
	if m.StoreURL != "" {
		a.checkURL(key+".store_url", m.StoreURL)
	}
	if len(m.Namespaces) > 0 {
		return
	}
	useless := map[string]bool{"max_items": m.MaxItems > 0, "allow_writes": m.AllowWrites, "store_url": m.StoreURL != ""}
	for _, name := range sortedNames(useless) {
		if useless[name] {
			a.problem(key+"."+name, "has no effect without namespaces, because an agent only reads and writes in its memory.namespaces; name some")
		}
	}
}

func (a agentCheck) checkBounds() {
	a.atLeast(a.key+".concurrency", int64(a.Concurrency), 1)
	a.atLeast(a.key+".queue", int64(a.Queue), 1)
	a.atLeast(a.key+".max_steps", int64(a.MaxSteps), 0)
	a.atLeast(a.key+".retries", int64(a.Retries), 0)
	a.positive(a.key+".step_timeout", a.StepTimeout > 0)
	a.positive(a.key+".run_timeout", a.RunTimeout > 0)
	a.positive(a.key+".stepping.idle", a.Stepping.Idle > 0)
}

func isControl(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }
