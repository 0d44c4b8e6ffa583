package export

import (
	"encoding/json"
	"maps"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/credential"
)

// gone reports whether a call is not kept any more.
func gone(err error) bool { return mapping.Classify(err).Class == mapping.NotFound }

// hide takes what grants access out of a call.
func hide(c *adapter.AgentCall) {
	c.URL, c.Error = hidden(c.URL), hidden(c.Error)
	for _, p := range []*adapter.CallPart{&c.Sent, &c.Received} {
		p.Body, p.Header = credential.HideNamed(p.Body), maps.Clone(p.Header)
		for name, value := range p.Header {
			p.Header[name] = hidden(value)
		}
	}
}

func hidden(text string) string { return string(credential.HideNamed([]byte(text))) }

// hiddenHead is the head of an event without what grants access.
func hiddenHead(h *mapping.Head) (json.RawMessage, error) {
	raw, err := json.Marshal(h)
	return credential.HideNamed(raw), err
}

func hiddenFault(f *mapping.Fault) *mapping.Fault {
	if f == nil {
		return nil
	}
	said := *f
	said.Message = hidden(said.Message)
	return &said
}
