package wire

// AgentCard describes an agent (S 4.4.1). Lists without omitempty are required and have at least one element (S 5.7).
type AgentCard struct {
	Name                 string                    `json:"name"`
	Description          string                    `json:"description"`
	SupportedInterfaces  []AgentInterface          `json:"supportedInterfaces"` // the first one is preferred
	Provider             *AgentProvider            `json:"provider,omitzero"`
	Version              string                    `json:"version"` // of the agent
	DocumentationURL     string                    `json:"documentationUrl,omitzero"`
	IconURL              string                    `json:"iconUrl,omitzero"`
	Capabilities         AgentCapabilities         `json:"capabilities"`
	SecuritySchemes      map[string]SecurityScheme `json:"securitySchemes,omitempty"`
	SecurityRequirements []SecurityRequirement     `json:"securityRequirements,omitempty"`
	DefaultInputModes    []string                  `json:"defaultInputModes"`
	DefaultOutputModes   []string                  `json:"defaultOutputModes"`
	Skills               []AgentSkill              `json:"skills"`
	Signatures           []AgentCardSignature      `json:"signatures,omitempty"`
}

// Protocol bindings of an AgentInterface (S 5.8).
const (
	BindingJSONRPC = "JSONRPC"
	BindingHTTP    = "HTTP+JSON"
)

// AgentInterface is a URL at which an agent is reached (S 4.4.6). ProtocolVersion is as the agent wrote it, such as
// "1.0" or "0.3.0"; see ParseVersion.
type AgentInterface struct {
	URL             string `json:"url"`
	ProtocolBinding string `json:"protocolBinding"`
	Tenant          string `json:"tenant,omitzero"`
	ProtocolVersion string `json:"protocolVersion"`
}

// AgentProvider is the organization behind an agent (S 4.4.2).
type AgentProvider struct {
	URL          string `json:"url"`
	Organization string `json:"organization"`
}

// AgentCapabilities are the optional features of an agent (S 4.4.3). In 0.3 ExtendedAgentCard is
// supportsAuthenticatedExtendedCard of the card.
type AgentCapabilities struct {
	Streaming         bool             `json:"streaming"`
	PushNotifications bool             `json:"pushNotifications"`
	Extensions        []AgentExtension `json:"extensions,omitempty"`
	ExtendedAgentCard bool             `json:"extendedAgentCard"`
}

// AgentExtension is an extension of the protocol that an agent supports (S 4.4.4).
type AgentExtension struct {
	URI         string `json:"uri"`
	Description string `json:"description,omitzero"`
	Required    bool   `json:"required,omitzero"`
	Params      Object `json:"params,omitzero"`
}

// AgentSkill is an ability of an agent (S 4.4.5).
type AgentSkill struct {
	ID                   string                `json:"id"`
	Name                 string                `json:"name"`
	Description          string                `json:"description"`
	Tags                 []string              `json:"tags"`
	Examples             []string              `json:"examples,omitempty"`
	InputModes           []string              `json:"inputModes,omitempty"`
	OutputModes          []string              `json:"outputModes,omitempty"`
	SecurityRequirements []SecurityRequirement `json:"securityRequirements,omitempty"`
}

// AgentCardSignature is a JSON Web Signature of a card (S 4.4.7).
type AgentCardSignature struct {
	Protected string `json:"protected"`
	Signature string `json:"signature"`
	Header    Object `json:"header,omitzero"`
}

// SecurityRequirement has the schemes that a request must satisfy together, with the scopes of each (S 4.5.1).
type SecurityRequirement map[string][]string

// SecurityScheme is how requests are authenticated: exactly one member is set (S 4.5.1).
type SecurityScheme struct {
	APIKey        *APIKeySecurityScheme        `json:"apiKeySecurityScheme,omitzero"`
	HTTPAuth      *HTTPAuthSecurityScheme      `json:"httpAuthSecurityScheme,omitzero"`
	OAuth2        *OAuth2SecurityScheme        `json:"oauth2SecurityScheme,omitzero"`
	OpenIDConnect *OpenIDConnectSecurityScheme `json:"openIdConnectSecurityScheme,omitzero"`
	MTLS          *MutualTLSSecurityScheme     `json:"mtlsSecurityScheme,omitzero"`
}

// APIKeySecurityScheme is a key in a query parameter, header or cookie.
type APIKeySecurityScheme struct {
	Description string `json:"description,omitzero"`
	Location    string `json:"location"` // query, header or cookie
	Name        string `json:"name"`
}

// HTTPAuthSecurityScheme is a scheme of the Authorization header.
type HTTPAuthSecurityScheme struct {
	Description  string `json:"description,omitzero"`
	Scheme       string `json:"scheme"`
	BearerFormat string `json:"bearerFormat,omitzero"`
}

// OAuth2SecurityScheme is OAuth 2.0. Its flows are only passed on: the bridge does not log in anywhere.
type OAuth2SecurityScheme struct {
	Description       string `json:"description,omitzero"`
	Flows             Object `json:"flows"`
	OAuth2MetadataURL string `json:"oauth2MetadataUrl,omitzero"`
}

// OpenIDConnectSecurityScheme is OpenID Connect.
type OpenIDConnectSecurityScheme struct {
	Description      string `json:"description,omitzero"`
	OpenIDConnectURL string `json:"openIdConnectUrl"`
}

// MutualTLSSecurityScheme is a client certificate.
type MutualTLSSecurityScheme struct {
	Description string `json:"description,omitzero"`
}
