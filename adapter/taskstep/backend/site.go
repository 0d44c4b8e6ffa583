package backend

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/apbridge/apbridge/adapter/upstream"
	"github.com/apbridge/apbridge/mapping"
)

// kind is a family of v1 servers with common behaviour.
type kind string

const (
	kindPlain  kind = "plain"  // unknown
	kindPython kind = "python" // the Python SDK
	kindJS     kind = "js"     // the JavaScript SDK
	kindForge  kind = "forge"  // AutoGPT and its forge
)

// plansAhead reports whether steps in status created are only planned.
func (k kind) plansAhead() bool { return k == kindPython }

// listsFilesInSteps reports whether an empty artifacts list in a step means that the step wrote no files. forge updates
// a file without naming it in the step, and agents on the Python SDK often register files only with the task.
func (k kind) listsFilesInSteps() bool { return k == kindPlain || k == kindJS }

// The prefixes of the task routes, in the v1 document and before it.
const (
	prefixV1  = "/ap/v1/agent"
	prefixOld = "/agent"
)

// site is the result of a successful probe.
type site struct {
	prefix string
	kind   kind
	topics bool // tasks may share a topic (Topic RFC)
}

// profile returns the site in the form in which a link stores it.
func (s site) profile() string {
	if s.topics {
		return string(s.kind) + " " + s.prefix + withTopics
	}
	return string(s.kind) + " " + s.prefix
}

const withTopics = " topics"

func parseProfile(p string) (site, bool) {
	p, topics := strings.CutSuffix(p, withTopics)
	k, prefix, ok := strings.Cut(p, " ")
	return site{prefix: prefix, kind: kind(k), topics: topics}, ok && (prefix == prefixV1 || prefix == prefixOld)
}

// address is a normalised URL of the configuration.
type address struct {
	root     string   // without a trailing slash
	host     string   // for messages
	prefixes []string // to be tried, likeliest first
}

// Ends returns the paths with which an agent's URL may end, longest first.
func Ends() []string { return []string{prefixV1, "/ap/v1", prefixOld} }

// parseBase normalises an agent's URL, which may end with one of Ends. In /agents/agent, the last part is the name of
// an agent behind a bridge.
func parseBase(raw string) (address, error) {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return address{}, mapping.Errorf(mapping.Invalid, mapping.CodeInvalid, "The URL of an agent must be http:// or https:// with a host.")
	}
	u.RawQuery, u.Fragment, u.RawFragment = "", "", ""
	b := address{host: u.Host, prefixes: []string{prefixV1, prefixOld}}
	b.root = strings.TrimRight(u.String(), "/")
	for _, end := range Ends() {
		if root, ok := strings.CutSuffix(b.root, end); ok && !(end == prefixOld && strings.HasSuffix(root, "/agents")) {
			b.root = strings.TrimRight(root, "/")
			if end == prefixOld {
				b.prefixes = []string{prefixOld, prefixV1}
			}
			break
		}
	}
	return b, nil
}

// match grades a response to GET tasks.
type match int

const (
	matchNo    match = iota // there is no such route
	matchMaybe              // the route exists but did not list tasks
	matchYes
)

// probeResult is the result of a probe.
type probeResult struct {
	site
	match
	unwilling error // the response of a server that has the route but did not list tasks; otherwise nil
}

// probe locates the task routes. It fails if there was no response.
func (b *backend) probe(ctx context.Context) (best probeResult, err error) {
	for _, prefix := range b.base.prefixes {
		ans, err := b.get(ctx, prefix+"/tasks", "")
		if err != nil {
			return probeResult{}, err
		}
		s, how := weigh(prefix, ans)
		if how > best.match {
			best.site, best.match = s, how
		}
		if how == matchYes {
			break
		}
		if best.unwilling == nil && upstream.Unwilling(ans.Status) {
			best.unwilling = b.refused(ans)
		}
	}
	return best, nil
}

// weigh grades a response to GET tasks.
func weigh(prefix string, ans *upstream.Answer) (site, match) {
	s := site{prefix: prefix, kind: kindOfHeader(ans.Header)}
	if ans.Status == http.StatusNotFound || ans.Status/100 == 3 {
		return s, matchNo
	}
	if ans.Status/100 != 2 {
		return s, matchMaybe
	}
	list, err := parseList(ans.Body, "tasks")
	if err != nil {
		return s, matchNo
	}
	for _, elem := range list.Elems {
		if t, err := parseTask(elem, ""); err == nil && t.Kind != "" {
			s.kind = t.Kind
			break
		}
	}
	return s, matchYes
}

func kindOfHeader(h http.Header) kind {
	if strings.Contains(h.Get("X-Powered-By"), "Express") {
		return kindJS
	}
	return kindPlain
}

// locate returns the site. The server is probed once per process. known is the site stored in a link.
func (b *backend) locate(ctx context.Context, known string) (site, error) {
	if s := b.site.Load(); s != nil {
		return *s, nil
	}
	if s, ok := parseProfile(known); ok {
		b.site.CompareAndSwap(nil, &s)
		return s, nil
	}
	select { // one probe for all runs that start at once
	case b.probing <- struct{}{}:
		defer func() { <-b.probing }()
	case <-ctx.Done():
		return site{}, stopReason(ctx)
	}
	if s := b.site.Load(); s != nil {
		return *s, nil
	}
	return b.findSite(ctx)
}

func (b *backend) findSite(ctx context.Context) (site, error) {
	seen, err := b.probe(ctx)
	switch {
	case err != nil:
		return site{}, err
	case seen.match == matchNo && seen.unwilling != nil:
		return site{}, seen.unwilling
	case seen.match == matchNo:
		return site{}, b.fail(mapping.CodeBadUpstream,
			"does not look like a task/step agent: neither %s/tasks nor %s/tasks is there. %s.", prefixV1, prefixOld, b.up.URLAdvice())
	}
	s := seen.site
	s.topics = s.prefix == prefixV1 && b.servesTopics(ctx)
	b.site.Store(&s)
	return s, nil
}

// forget makes the next run probe again.
func (b *backend) forget() { b.site.Store(nil) }
