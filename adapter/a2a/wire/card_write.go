package wire

// legacyProtocolVersion is 0.3's protocolVersion of a card, which has all three numbers.
const legacyProtocolVersion = "0.3.0"

// legacyMembers are the members of a card that only 0.3 has.
type legacyMembers struct {
	ProtocolVersion      string                `json:"protocolVersion"`
	URL                  string                `json:"url"`
	PreferredTransport   string                `json:"preferredTransport"`
	AdditionalInterfaces []legacyInterface     `json:"additionalInterfaces,omitempty"`
	ExtendedCard         bool                  `json:"supportsAuthenticatedExtendedCard,omitzero"`
	Security             []map[string][]string `json:"security,omitempty"`
}

type legacyCapabilities struct {
	Streaming         bool             `json:"streaming"`
	PushNotifications bool             `json:"pushNotifications"`
	Extensions        []AgentExtension `json:"extensions,omitempty"`
}

type legacySkill struct {
	ID          string                `json:"id"`
	Name        string                `json:"name"`
	Description string                `json:"description"`
	Tags        []string              `json:"tags"`
	Examples    []string              `json:"examples,omitempty"`
	InputModes  []string              `json:"inputModes,omitempty"`
	OutputModes []string              `json:"outputModes,omitempty"`
	Security    []SecurityRequirement `json:"security,omitempty"`
}

type legacyCard struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	legacyMembers
	Provider           *AgentProvider            `json:"provider,omitzero"`
	Version            string                    `json:"version"`
	DocumentationURL   string                    `json:"documentationUrl,omitzero"`
	IconURL            string                    `json:"iconUrl,omitzero"`
	Capabilities       legacyCapabilities        `json:"capabilities"`
	SecuritySchemes    map[string]SecurityScheme `json:"securitySchemes,omitempty"`
	DefaultInputModes  []string                  `json:"defaultInputModes"`
	DefaultOutputModes []string                  `json:"defaultOutputModes"`
	Skills             []legacySkill             `json:"skills"`
}

// legacyMembers returns the members by which 0.3 clients find the agent. If no interface is of 0.3, it lists all, since
// 0.3 requires a URL.
func (c *AgentCard) legacyMembers() legacyMembers {
	m := legacyMembers{ProtocolVersion: legacyProtocolVersion, ExtendedCard: c.Capabilities.ExtendedAgentCard, Security: legacySecurity(c.SecurityRequirements)}
	var found []legacyInterface
	for _, only := range []bool{true, false} {
		for _, f := range c.SupportedInterfaces {
			if v, ok := ParseVersion(f.ProtocolVersion); !only || ok && v == V03 {
				found = append(found, legacyInterface{URL: f.URL, Transport: f.ProtocolBinding})
			}
		}
		if len(found) > 0 {
			break
		}
	}
	if len(found) > 0 {
		m.URL, m.PreferredTransport = found[0].URL, found[0].Transport
	}
	if len(found) > 1 {
		m.AdditionalInterfaces = found // 0.3 asks for the preferred one to be repeated (V3, AgentCard)
	}
	return m
}

func (c *AgentCard) legacy() legacyCard {
	l := legacyCard{
		Name: c.Name, Description: c.Description, legacyMembers: c.legacyMembers(), Provider: c.Provider, Version: c.Version,
		DocumentationURL: c.DocumentationURL, IconURL: c.IconURL,
		Capabilities:    legacyCapabilities{c.Capabilities.Streaming, c.Capabilities.PushNotifications, c.Capabilities.Extensions},
		SecuritySchemes: c.SecuritySchemes, DefaultInputModes: c.DefaultInputModes, DefaultOutputModes: c.DefaultOutputModes,
	}
	for _, s := range c.Skills {
		l.Skills = append(l.Skills, legacySkill{s.ID, s.Name, s.Description, s.Tags, s.Examples, s.InputModes, s.OutputModes, s.SecurityRequirements})
	}
	return l
}

// AppendHybridCard appends a card that clients of both versions read: the members of 1.0 together with those of 0.3,
// as the official SDKs for Go and JavaScript write it. c lists its interfaces of 1.0 before those of 0.3. Security
// schemes have the shapes of both versions. Cards are the only documents that may have unknown members: clients that
// refuse them elsewhere read cards leniently.
func AppendHybridCard(dst []byte, c AgentCard) ([]byte, error) {
	type hybridSkill struct {
		skill
		Security []map[string][]string `json:"security,omitempty"`
	}
	x := struct {
		card
		legacyMembers
		SecuritySchemes map[string]hybridScheme `json:"securitySchemes,omitempty"`
		Skills          []hybridSkill           `json:"skills"`
	}{card: card(c), legacyMembers: c.legacyMembers()}
	for name, s := range c.SecuritySchemes {
		if x.SecuritySchemes == nil {
			x.SecuritySchemes = map[string]hybridScheme{}
		}
		x.SecuritySchemes[name] = s.hybrid()
	}
	for _, s := range c.Skills {
		x.Skills = append(x.Skills, hybridSkill{skill(s), legacySecurity(s.SecurityRequirements)})
	}
	return Append(dst, V1, x)
}

// hybridScheme has the members of 1.0 and 0.3's a2a.proto and those of 0.3's a2a.json.
type hybridScheme struct {
	securityScheme
	scheme
}

func (s SecurityScheme) hybrid() hybridScheme { return hybridScheme{securityScheme(s), s.legacy()} }

func legacySecurity(requirements []SecurityRequirement) []map[string][]string {
	var list []map[string][]string
	for _, r := range requirements {
		list = append(list, r)
	}
	return list
}
