package wire

import (
	"encoding/json"
	"slices"

	"github.com/apbridge/apbridge/mapping/rawjson"
	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

type card AgentCard

// legacyInterface is an AgentInterface of 0.3.
type legacyInterface struct {
	URL       string `json:"url"`
	Transport string `json:"transport"`
}

// readCard reads cards of 1.0, of 0.3 and of both at once. Interfaces that only 0.3's members name come last, in their
// order, since a hybrid card lists its preferred ones in supportedInterfaces.
func readCard(dec *jsontext.Decoder, c *AgentCard) error {
	var x struct {
		card
		URL                  string                `json:"url"`
		PreferredTransport   string                `json:"preferredTransport"`
		AdditionalInterfaces []legacyInterface     `json:"additionalInterfaces"`
		ProtocolVersion      string                `json:"protocolVersion"`
		ExtendedCard         bool                  `json:"supportsAuthenticatedExtendedCard"`
		Security             []SecurityRequirement `json:"security"`
	}
	if err := jsonv2.UnmarshalDecode(dec, &x); err != nil {
		return err
	}
	*c = AgentCard(x.card)
	c.Capabilities.ExtendedAgentCard = c.Capabilities.ExtendedAgentCard || x.ExtendedCard
	if len(c.SecurityRequirements) == 0 {
		c.SecurityRequirements = x.Security
	}
	version := x.ProtocolVersion
	if version == "" {
		version = V03.String()
	}
	for i := range c.SupportedInterfaces {
		// Without a version, official SDKs assume 0.3 (a2a-python).
		if f := &c.SupportedInterfaces[i]; f.ProtocolVersion == "" {
			f.ProtocolVersion = version
		}
	}
	legacy := x.AdditionalInterfaces
	if x.URL != "" {
		transport := x.PreferredTransport
		if transport == "" {
			transport = BindingJSONRPC // the default of 0.3
		}
		legacy = slices.Insert(legacy, 0, legacyInterface{URL: x.URL, Transport: transport})
	}
	for _, f := range legacy {
		c.addInterface(AgentInterface{URL: f.URL, ProtocolBinding: f.Transport, ProtocolVersion: version})
	}
	return nil
}

// addInterface adds an interface that the card does not list yet.
func (c *AgentCard) addInterface(f AgentInterface) {
	added, ok := ParseVersion(f.ProtocolVersion)
	known := slices.ContainsFunc(c.SupportedInterfaces, func(g AgentInterface) bool {
		v, parsed := ParseVersion(g.ProtocolVersion)
		return g.URL == f.URL && g.ProtocolBinding == f.ProtocolBinding && (g.ProtocolVersion == f.ProtocolVersion || ok && parsed && v == added)
	})
	if !known {
		c.SupportedInterfaces = append(c.SupportedInterfaces, f)
	}
}

type agentInterface AgentInterface

// readInterface also takes transport, 0.3's name of the binding.
func readInterface(dec *jsontext.Decoder, f *AgentInterface) error {
	var x struct {
		agentInterface
		Transport string `json:"transport"`
	}
	if err := jsonv2.UnmarshalDecode(dec, &x); err != nil {
		return err
	}
	*f = AgentInterface(x.agentInterface)
	if f.ProtocolBinding == "" {
		f.ProtocolBinding = x.Transport
	}
	return nil
}

type skill AgentSkill

func readSkill(dec *jsontext.Decoder, s *AgentSkill) error {
	var x struct {
		skill
		Security []SecurityRequirement `json:"security"` // 0.3
	}
	if err := jsonv2.UnmarshalDecode(dec, &x); err != nil {
		return err
	}
	*s = AgentSkill(x.skill)
	if len(s.SecurityRequirements) == 0 {
		s.SecurityRequirements = x.Security
	}
	return nil
}

// readRequirement takes {schemes: {name: {list: [scope]}}}, 0.3's {name: [scope]}, and a2a-go's mixture of both, which
// leaves list out.
func readRequirement(dec *jsontext.Decoder, s *SecurityRequirement) error {
	raw, err := dec.ReadValue()
	if err != nil {
		return err
	}
	*s = nil
	var schemes struct {
		Schemes jsontext.Value `json:"schemes"`
	}
	o := dec.Options()
	if err := jsonv2.Unmarshal(raw, &schemes, o); err != nil {
		return err
	}
	if schemes.Schemes.Kind() == '{' {
		raw = schemes.Schemes
	}
	var lists map[string]jsontext.Value
	if err := jsonv2.Unmarshal(raw, &lists, o); err != nil {
		return err
	}
	*s = make(SecurityRequirement, len(lists))
	for name, value := range lists {
		var l struct {
			List []string `json:"list"`
		}
		if value.Kind() == '[' {
			err = jsonv2.Unmarshal(value, &l.List, o)
		} else {
			err = jsonv2.Unmarshal(value, &l, o)
		}
		if err != nil {
			return err
		}
		(*s)[name] = l.List
	}
	return nil
}

// scheme is a security scheme of 0.3, of the type that Type names.
type scheme struct {
	Type              string `json:"type"`
	Description       string `json:"description,omitzero"`
	In                string `json:"in,omitzero"`
	Name              string `json:"name,omitzero"`
	Scheme            string `json:"scheme,omitzero"`
	BearerFormat      string `json:"bearerFormat,omitzero"`
	Flows             Object `json:"flows,omitzero"`
	OAuth2MetadataURL string `json:"oauth2MetadataUrl,omitzero"`
	OpenIDConnectURL  string `json:"openIdConnectUrl,omitzero"`
}

type securityScheme SecurityScheme

// readScheme takes a scheme of 1.0 or 0.3. It also takes {scheme: {$case, value}}, the inner form of one-of members
// that @a2a-js/sdk 1.3.0 writes on cards of 1.0. A lenient Reader leaves out a scheme that it cannot read, since an
// agent can be called without it.
func (r *Reader) readScheme(dec *jsontext.Decoder, s *SecurityScheme) error {
	raw, err := dec.ReadValue()
	if err != nil {
		return err
	}
	*s = SecurityScheme{}
	o := dec.Options()
	var kept struct {
		Scheme struct {
			Case  string         `json:"$case"`
			Value jsontext.Value `json:"value"`
		} `json:"scheme"`
	}
	if err := jsonv2.Unmarshal(raw, &kept, o); err == nil && kept.Scheme.Case != "" && kept.Scheme.Value != nil {
		member, err := rawjson.WithMember(nil, kept.Scheme.Case, json.RawMessage(kept.Scheme.Value))
		if err != nil {
			return err
		}
		raw = jsontext.Value(member)
	}
	var x struct {
		securityScheme
		scheme
	}
	if err := jsonv2.Unmarshal(raw, &x, o); err != nil {
		if r.lenient {
			return nil
		}
		return err
	}
	*s = SecurityScheme(x.securityScheme)
	if *s != (SecurityScheme{}) {
		return nil
	}
	l := x.scheme
	switch l.Type {
	case "apiKey":
		s.APIKey = &APIKeySecurityScheme{Description: l.Description, Location: l.In, Name: l.Name}
	case "http":
		s.HTTPAuth = &HTTPAuthSecurityScheme{Description: l.Description, Scheme: l.Scheme, BearerFormat: l.BearerFormat}
	case "oauth2":
		s.OAuth2 = &OAuth2SecurityScheme{Description: l.Description, Flows: l.Flows, OAuth2MetadataURL: l.OAuth2MetadataURL}
	case "openIdConnect":
		s.OpenIDConnect = &OpenIDConnectSecurityScheme{Description: l.Description, OpenIDConnectURL: l.OpenIDConnectURL}
	case "mutualTLS":
		s.MTLS = &MutualTLSSecurityScheme{Description: l.Description}
	}
	return nil
}

// legacy returns the 0.3 form of a scheme.
func (s SecurityScheme) legacy() scheme {
	switch {
	case s.APIKey != nil:
		return scheme{Type: "apiKey", Description: s.APIKey.Description, In: s.APIKey.Location, Name: s.APIKey.Name}
	case s.HTTPAuth != nil:
		return scheme{Type: "http", Description: s.HTTPAuth.Description, Scheme: s.HTTPAuth.Scheme, BearerFormat: s.HTTPAuth.BearerFormat}
	case s.OAuth2 != nil:
		return scheme{Type: "oauth2", Description: s.OAuth2.Description, Flows: s.OAuth2.Flows, OAuth2MetadataURL: s.OAuth2.OAuth2MetadataURL}
	case s.OpenIDConnect != nil:
		return scheme{Type: "openIdConnect", Description: s.OpenIDConnect.Description, OpenIDConnectURL: s.OpenIDConnect.OpenIDConnectURL}
	}
	return scheme{Type: "mutualTLS", Description: s.mtlsDescription()}
}

func (s SecurityScheme) mtlsDescription() string {
	if s.MTLS == nil {
		return ""
	}
	return s.MTLS.Description
}
