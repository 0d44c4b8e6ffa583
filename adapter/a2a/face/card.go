package face

import (
	"cmp"
	"net/http"
	"strconv"
	"strings"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/a2a/wire"
	"github.com/apbridge/apbridge/adapter/body"
	"github.com/apbridge/apbridge/mapping"
	"github.com/gorilla/mux"
)

// cardAge is how long clients may keep a card, in seconds.
const cardAge = 300

// defaultCard serves the card of the default agent, or of the one that assistant_id names, as LangGraph's servers do.
func (s *server) defaultCard(w http.ResponseWriter, r *http.Request) error {
	name := r.URL.Query().Get("assistant_id")
	if name == "" {
		name = s.face.DefaultAgent
	}
	if name == "" {
		return mapping.Errorf(mapping.NotFound, mapping.CodeAgentNotFound, "No agent is the default one here. The card of an agent is at %sNAME%s.", root, wellKnown[0])
	}
	return s.serveCard(w, r, name)
}

func (s *server) agentCard(w http.ResponseWriter, r *http.Request) error {
	return s.serveCard(w, r, mux.Vars(r)["agent"])
}

// serveCard serves a public card (S 8.2). It also serves callers without a key, so it only uses the configuration.
func (s *server) serveCard(w http.ResponseWriter, r *http.Request, name string) error {
	if _, ok := s.face.Agents[name]; !ok {
		if name = s.nameOf(name); name == "" {
			return agentNotFound()
		}
	}
	raw, tag, err := wire.CardDocument(s.profile(&call{w: w, r: r}, name).Card())
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("ETag", tag)
	scope := "public"
	if !s.cfg.PublicCard {
		scope = "private" // it may need a key
	}
	h.Set("Cache-Control", scope+", max-age="+strconv.Itoa(cardAge))
	// The URLs in it are those of the request.
	h.Set("Vary", "Host, X-Forwarded-Host, X-Forwarded-Proto, X-Forwarded-Prefix")
	if matchesTag(r.Header.Get("If-None-Match"), tag) {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	h.Set("Content-Type", body.TypeJSON)
	h.Set("Content-Length", strconv.Itoa(len(raw)))
	_, _ = w.Write(raw)
	return nil
}

// matchesTag reports whether If-None-Match has a tag (RFC 9110, section 13.1.2).
func matchesTag(header, tag string) bool {
	for one := range strings.SplitSeq(header, ",") {
		if one = strings.TrimPrefix(strings.TrimSpace(one), "W/"); one == tag || one == "*" {
			return true
		}
	}
	return false
}

// nameOf returns the configured agent with the id of an assistant, or "".
func (s *server) nameOf(id string) string {
	for name := range s.face.Agents {
		if strings.EqualFold(mapping.AssistantID(name), id) {
			return name
		}
	}
	return ""
}

// profile describes an agent in its card. name is that in its URL.
func (s *server) profile(c *call, name string) wire.Profile {
	p := wire.Profile{
		Name: name, Description: "The agent " + name + ", served by apbridge.", URL: s.baseURL(c) + root + name, Legacy: s.cfg.Legacy,
		InputModes: s.cfg.InputModes, OutputModes: s.cfg.OutputModes,
		Capabilities: wire.AgentCapabilities{
			Streaming: true, PushNotifications: true, ExtendedAgentCard: true,
			Extensions: []wire.AgentExtension{{URI: ResumeExtension, Description: "Streams continue after the frame that Last-Event-ID names."}},
		},
	}
	if own := s.face.Agents[name].Description; own != "" {
		p.Description = own
	}
	s.secure(&p)
	return p
}

// secure adds the ways in which callers authenticate. They are alternatives.
func (s *server) secure(p *wire.Profile) {
	auth, add := s.face.Auth, func(name string, scheme wire.SecurityScheme) {
		if p.SecuritySchemes == nil {
			p.SecuritySchemes = map[string]wire.SecurityScheme{}
		}
		p.SecuritySchemes[name] = scheme
		p.SecurityRequirements = append(p.SecurityRequirements, wire.SecurityRequirement{name: {}})
	}
	if auth.Keys {
		add("apiKey", wire.SecurityScheme{APIKey: &wire.APIKeySecurityScheme{Location: "header", Name: "x-api-key"}})
	}
	if auth.Keys || len(auth.Issuers) > 0 {
		add("bearer", wire.SecurityScheme{HTTPAuth: &wire.HTTPAuthSecurityScheme{Scheme: "Bearer"}})
	}
	for i, issuer := range auth.Issuers {
		at := strings.TrimRight(issuer, "/") + "/.well-known/openid-configuration"
		add("openIdConnect"+strings.TrimPrefix(strconv.Itoa(i), "0"), wire.SecurityScheme{OpenIDConnect: &wire.OpenIDConnectSecurityScheme{OpenIDConnectURL: at}})
	}
	if auth.Certificates {
		add("certificate", wire.SecurityScheme{MTLS: &wire.MutualTLSSecurityScheme{}})
	}
}

// extendedCard returns the card with the assistants of the agent that the caller may use (S 3.1.11).
func (s *server) extendedCard(c *call) (any, error) {
	var q wire.GetExtendedAgentCardRequest
	if err := c.params(&q, &q.Tenant); err != nil {
		return nil, err
	}
	name := c.agent.Graph
	if !c.agent.Configured {
		name = c.agent.ID
	}
	p := s.profile(c, name)
	p.Name = c.agent.Graph
	own := s.face.Agents[c.agent.Graph].Description
	if about := cmp.Or(c.agent.Description, own); about != "" {
		p.Description = about
	}
	list, _, err := s.svc.SearchAssistants(c.r.Context(), adapter.AgentQuery{Graph: c.agent.Graph, SortBy: mapping.SortByName, Asc: true, Limit: listed})
	if err != nil {
		return nil, err
	}
	for _, a := range list {
		skill := wire.AgentSkill{ID: a.ID, Name: a.Name, Description: a.Description, Tags: []string{"assistant"}}
		if a.Configured {
			skill.ID, skill.Tags = a.Graph, []string{"agent"}
			skill.Description = cmp.Or(skill.Description, own)
		}
		if skill.Name == "" {
			skill.Name = skill.ID
		}
		if skill.Description == "" {
			skill.Description = skill.Name
		}
		p.Skills = append(p.Skills, skill)
	}
	return p.Card(), nil
}
