package wire

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// Profile describes an agent that is served with A2A.
type Profile struct {
	Name        string
	Description string // default: Name
	Version     string // of the agent; default "1.0.0"
	URL         string // absolute, as clients reach it
	Legacy      bool   // 0.3 is served too

	Capabilities     AgentCapabilities
	InputModes       []string // media types; default text/plain
	OutputModes      []string // media types; default text/plain
	Skills           []AgentSkill
	Provider         *AgentProvider
	DocumentationURL string
	IconURL          string

	SecuritySchemes map[string]SecurityScheme
	// SecurityRequirements are alternatives. a2a-go 2.4.0 fails to read any card of 1.0 that has some, since it expects
	// the scopes without the list around them (a2a.proto: StringList).
	SecurityRequirements []SecurityRequirement
}

// Card returns the card of an agent. It fills required members that the profile leaves empty (S 5.7): without skills
// the card has one, which is the agent itself. Interfaces of 1.0 come first, since clients take the first one that they
// support (S 8.3).
func (p Profile) Card() AgentCard {
	c := AgentCard{
		Name: p.Name, Description: cmp.Or(p.Description, p.Name), Version: cmp.Or(p.Version, "1.0.0"), Capabilities: p.Capabilities,
		DefaultInputModes: modes(p.InputModes), DefaultOutputModes: modes(p.OutputModes), Skills: p.Skills,
		Provider: p.Provider, DocumentationURL: p.DocumentationURL, IconURL: p.IconURL,
		SecuritySchemes: p.SecuritySchemes, SecurityRequirements: p.SecurityRequirements,
	}
	if len(c.Skills) == 0 {
		c.Skills = []AgentSkill{{ID: c.Name, Name: c.Name, Description: c.Description, Tags: []string{"agent"}}}
	}
	// Clients append the paths of HTTP+JSON to the URL.
	url := strings.TrimRight(p.URL, "/")
	c.SupportedInterfaces = []AgentInterface{
		{URL: url, ProtocolBinding: BindingJSONRPC, ProtocolVersion: V1.String()},
		{URL: url, ProtocolBinding: BindingHTTP, ProtocolVersion: V1.String()},
	}
	if p.Legacy {
		// HTTP+JSON comes last: a2a-go encodes the bytes of files twice there.
		c.SupportedInterfaces = append(c.SupportedInterfaces,
			AgentInterface{URL: url, ProtocolBinding: BindingJSONRPC, ProtocolVersion: V03.String()},
			AgentInterface{URL: url, ProtocolBinding: BindingHTTP, ProtocolVersion: V03.String()})
	}
	return c
}

// CardDocument returns the public card as it is served, with its entity tag for ETag and If-None-Match (S 8.6). It is a
// hybrid card if an interface of it is of version 0.3, and otherwise one of 1.0.
func CardDocument(c AgentCard) (body []byte, tag string, err error) {
	hybrid := false
	for _, f := range c.SupportedInterfaces {
		if v, ok := ParseVersion(f.ProtocolVersion); ok && v == V03 {
			hybrid = true
		}
	}
	if hybrid {
		body, err = AppendHybridCard(nil, c)
	} else {
		body, err = Append(nil, V1, c)
	}
	if err != nil {
		return nil, "", err
	}
	sum := sha256.Sum256(body)
	return body, `"` + hex.EncodeToString(sum[:16]) + `"`, nil
}

func modes(list []string) []string {
	if len(list) == 0 {
		return []string{"text/plain"}
	}
	return list
}
