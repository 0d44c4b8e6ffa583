package backend

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/apbridge/apbridge/adapter/a2a/wire"
	"github.com/apbridge/apbridge/adapter/upstream"
	"github.com/apbridge/apbridge/mapping"
	"go.uber.org/zap"
)

// endpoint is how the agent is called.
type endpoint struct {
	version      wire.Version
	http         bool   // HTTP+JSON instead of JSON-RPC
	path         string // of the interface's URL
	streams      bool
	name         string // "" if the agent has no card
	agentVersion string
	other        *endpoint // the interface to try if the agent does not know this version; nil: none
}

func (e *endpoint) profile() string {
	binding := wire.BindingJSONRPC
	if e.http {
		binding = wire.BindingHTTP
	}
	profile := "A2A " + e.version.String() + " over " + binding
	if e.name == "" {
		return profile + ", without a card"
	}
	return profile
}

// cardPaths are where servers have their card: that of 0.3 and 1.0, and that of 0.2.
var cardPaths = []string{"/.well-known/agent-card.json", "/.well-known/agent.json"}

// errNoCard means that a response is not an agent card.
var errNoCard = errors.New("the response is not an agent card")

// endpoint returns how the agent is called. The first call reads the card. An agent without one is called at its URL by
// JSON-RPC.
func (b *backend) endpoint(ctx context.Context) (*endpoint, error) {
	b.mu.Lock()
	known := b.known
	b.mu.Unlock()
	if known != nil {
		return known, nil
	}
	card, err := b.readCard(ctx)
	found := b.withoutCard()
	switch {
	case err == nil:
		if found = b.choose(card); found == nil {
			return nil, b.fail(mapping.CodeBadUpstream, "has a card without an interface for JSON-RPC or HTTP+JSON in version 1.0 or 0.3.")
		}
	case !missing(err):
		return nil, b.failure(err)
	}
	b.remember(found)
	return found, nil
}

// missing reports whether an error of readCard means that the agent has no card.
func missing(err error) bool {
	if errors.Is(err, errNoCard) || upstream.Is(err, upstream.BadAnswer) {
		return true
	}
	status := upstream.Status(err)
	return status != 0 && !upstream.Unwilling(status)
}

func (b *backend) remember(e *endpoint) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.known = e
}

func (b *backend) forget() { b.remember(nil) }

func (b *backend) readCard(ctx context.Context) (card wire.AgentCard, err error) {
	for _, path := range cardPaths {
		var ans *upstream.Answer
		ans, err = b.to.Do(ctx, &upstream.Call{Method: http.MethodGet, Path: b.path + path, Time: b.readTimeout()})
		if err == nil {
			if err = b.reader.Read(wire.V1, ans.Body, &card); err == nil && (card.Name != "" || len(card.SupportedInterfaces) > 0) {
				return card, nil
			}
			err = errNoCard
		}
		if !missing(err) {
			return card, err
		}
	}
	return card, err
}

// choose returns the interface of the card that the bridge prefers: 1.0 over JSON-RPC, 1.0 over HTTP+JSON, 0.3 over
// JSON-RPC, 0.3 over HTTP+JSON. It returns nil if there is none.
//
// The host is always that of the configured URL, so that the agent's headers go nowhere else: a card behind a proxy
// often names an inner host.
func (b *backend) choose(card wire.AgentCard) *endpoint {
	var list [4]*endpoint
	for _, each := range card.SupportedInterfaces {
		version, ok := wire.ParseVersion(each.ProtocolVersion)
		u, err := url.Parse(each.URL)
		if !ok || err != nil {
			continue
		}
		if u.Host != "" && u.Scheme+"://"+u.Host != b.host {
			b.log.Info("agent card names another host; calling the configured one", zap.String("agent", b.up.Name), zap.String("card", u.Host))
		}
		e := &endpoint{
			version: version, path: u.EscapedPath(), streams: card.Capabilities.Streaming,
			name: card.Name, agentVersion: card.Version,
		}
		if u.RawQuery != "" {
			e.path += "?" + u.RawQuery
		}
		rank := 0
		if version == wire.V03 {
			rank = 2
		}
		switch strings.ToUpper(each.ProtocolBinding) {
		case wire.BindingJSONRPC:
		case wire.BindingHTTP:
			rank++
			e.http, e.path = true, strings.TrimRight(u.EscapedPath(), "/") // a base for paths (S 5.3)
			if version == wire.V03 {
				e.version = wire.V03HTTP
			}
		default:
			continue
		}
		if list[rank] == nil {
			list[rank] = e
		}
	}
	for _, e := range list {
		if e != nil {
			e.other = e.otherVersion()
			return e
		}
	}
	return nil
}

// withoutCard returns the interface of an agent without a card.
func (b *backend) withoutCard() *endpoint {
	e := &endpoint{version: wire.V1, path: b.path, streams: true}
	e.other = e.otherVersion()
	return e
}

// otherVersion returns the same interface in the other version. Some cards announce a version that the server does not
// know.
func (e *endpoint) otherVersion() *endpoint {
	other := *e
	other.other = nil
	switch {
	case e.version != wire.V1:
		other.version = wire.V1
	case e.http:
		other.version = wire.V03HTTP
	default:
		other.version = wire.V03
	}
	return &other
}
