package config

import (
	"fmt"
	"net"
	"net/textproto"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
)

var (
	agentName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
	uuidShape = regexp.MustCompile(`^(?i)[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)
	// labels are text and {names}, of which only the latter may hold dots
	namespaceTemplate = regexp.MustCompile(`^([^/.{}]|\{[^/{}]+\})+(/([^/.{}]|\{[^/{}]+\})+)*$`)
	headerName        = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")
)

// ownHeaders are set by the bridge or by the transport and cannot be
// configured (RFC 9110 section 7.6.1 for those of one connection).
var ownHeaders = []string{
	"Host", "Content-Length", "Content-Type", "Accept", "Connection", "Keep-Alive", "Proxy-Connection",
	"Te", "Trailer", "Transfer-Encoding", "Upgrade", "Idempotency-Key",
}

func (l *loader) checkAgents() {
	names := sortedNames(l.cfg.Agents)
	if len(names) == 0 {
		l.complain("agents", "there is no agent to stand in front of; add one below agents:, or --agent NAME=URL")
	}
	for _, name := range names {
		l.checkAgentName("agents."+name, name)
		l.checkAgent("agents."+name, l.cfg.Agents[name])
	}
	if d := l.cfg.DefaultAgent; d != "" && !slices.Contains(names, d) {
		l.complain("default_agent", "there is no agent called %q; %s", d, suggest(d, names))
	}
}

func (l *loader) checkAgentName(key, name string) {
	switch {
	case !agentName.MatchString(name):
		l.complain(key, "the name %q cannot be used; take 1 to 64 of A-Z a-z 0-9 _ -", name)
	case name == "search":
		l.complain(key, `an agent cannot be called "search", which is a route of its own`)
	case uuidShape.MatchString(name):
		l.complain(key, "an agent cannot be called like a UUID, which is what assistants have")
	}
}

// checkLoop refuses an agent that is this bridge itself. A way that leads back here from
// elsewhere is found at the first request (mapping.HopsHeader).
func (l *loader) checkLoop(key, raw string) {
	u, err := url.Parse(raw)
	host, port, err2 := net.SplitHostPort(l.cfg.Listen)
	if err != nil || err2 != nil || port == "0" || u.Port() != port {
		return
	}
	if strings.EqualFold(u.Hostname(), host) || Loopback(u.Host) && (Loopback(l.cfg.Listen) || host == "" || net.ParseIP(host).IsUnspecified()) {
		l.complain(key, "is where this bridge listens itself (listen: %s), so that each request would come back to it; write the agent's own address", l.cfg.Listen)
	}
}

func (l *loader) checkAgent(key string, a Agent) {
	if a.URL == "" {
		l.complain(key+".url", "is missing; where does the agent listen?")
	} else {
		l.checkURL(key+".url", a.URL)
		l.checkLoop(key+".url", a.URL)
	}
	if l.opt.Dialects != nil {
		l.oneOf(key+".dialect", a.Dialect, append([]string{"auto"}, l.opt.Dialects...)...)
	}
	l.checkHeaders(key+".headers", a.Headers)
	l.checkBounds(key, a)
	l.oneOf(key+".approval", a.Approval, "auto", "ask", "step")
	l.oneOf(key+".multitask_default", a.Multitask, "auto", "reject", "enqueue", "interrupt", "rollback")
	l.oneOf(key+".upstream_threads", a.UpstreamThreads, "keep", "delete")
	l.oneOf(key+".stepping.mode", a.Stepping.Mode, "auto", "free", "lockstep", "run")
	l.oneOf(key+".artifacts.path", a.Artifacts.Path, "whole", "folder")
	l.oneOf(key+".artifacts.style", a.Artifacts.Style, "object", "string")
	l.oneOf(key+".memory.transcript", a.Memory.Transcript, "full", "last", "none")
	l.oneOf(key+".memory.deliver", a.Memory.Deliver, "prompt", "additional_input", "both")
	for i, p := range a.Artifacts.Exclude {
		if _, err := path.Match(p, ""); err != nil || p == "" {
			l.complain(fmt.Sprintf("%s.artifacts.exclude[%d]", key, i), "%q is not a pattern; write paths with * and ?, like build/*.log", p)
		}
	}
	for i, n := range a.Memory.Namespaces {
		if !namespaceTemplate.MatchString(n) {
			l.complain(fmt.Sprintf("%s.memory.namespaces[%d]", key, i), "cannot be %q; write labels parted by slashes, like users/{user_id}", n)
		}
	}
}

func (l *loader) checkBounds(key string, a Agent) {
	l.atLeast(key+".concurrency", int64(a.Concurrency), 1)
	l.atLeast(key+".queue", int64(a.Queue), 1)
	l.atLeast(key+".max_steps", int64(a.MaxSteps), 1)
	l.atLeast(key+".retries", int64(a.Retries), 0)
	l.positive(key+".step_timeout", a.StepTimeout > 0)
	l.positive(key+".run_timeout", a.RunTimeout > 0)
	l.positive(key+".stepping.idle", a.Stepping.Idle > 0)
}

// checkHeaders never says what a header holds.
func (l *loader) checkHeaders(key string, headers map[string]Secret) {
	for _, name := range sortedNames(headers) {
		switch value := headers[name].Reveal(); {
		case !headerName.MatchString(name):
			l.complain(join(key, name), "this is not the name of a header")
		case slices.Contains(ownHeaders, textproto.CanonicalMIMEHeaderKey(name)):
			l.complain(join(key, name), "this header belongs to the bridge and cannot be set")
		case strings.ContainsFunc(value, isControl):
			l.complain(join(key, name), "the value holds a line break or another control character")
		}
	}
}

func isControl(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }
