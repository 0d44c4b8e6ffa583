package upstream

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"

	"github.com/apbridge/apbridge/mapping/rawjson"
)

const (
	saidMost  = 300 // maximum characters shown of the agent's message
	afterMost = 40  // and of its Retry-After
)

// refusal is the meaning of an error status for an operator of the bridge.
type refusal struct {
	means string
	do    string // advice; may be empty
	// quiet suppresses the agent's message. Some servers repeat the credential, or a hash of it; others send nothing
	// useful.
	quiet bool
}

var (
	refusedCredentials = refusal{"it does not accept the bridge's credentials", "Check the headers of the agent in the configuration", true}
	refusedSize        = refusal{"it finds the request too large", "Shorten the input or set memory.history to last or none", true}
	refusedNow         = refusal{"it is overloaded", "Try again later or lower its concurrency", false}
	refusedAddress     = refusal{"redirects are not followed", "Configure the final url", true}
)

// refusalOf is the only table of these meanings, for the agents of all dialects.
func refusalOf(status int) refusal {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired:
		return refusedCredentials
	case http.StatusRequestEntityTooLarge:
		return refusedSize
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return refusedNow
	}
	if status/100 == 3 {
		return refusedAddress
	}
	return refusal{}
}

// Refusal returns the text to follow the status of an error response: its meaning, the agent's message and advice, as
// in ": it is overloaded: slow down. Try again later.", or only ".". It contains no credentials.
func (c *Client) Refusal(status int, header http.Header, body []byte) string {
	r := refusalOf(status)
	parts := []string{""}
	if r.means != "" {
		parts = append(parts, r.means)
	}
	if said := c.words(body); said != "" && !r.quiet {
		parts = append(parts, said)
	}
	text := strings.Join(parts, ": ")
	if after := header.Get("Retry-After"); after != "" && !r.quiet {
		text += " (it asks to wait: " + c.Excerpt(after, afterMost) + ")"
	}
	if r.do != "" {
		text += ". " + r.do
	}
	return text + "."
}

var markup = regexp.MustCompile(`(?s)<(script|style|head)[^>]*>.*?</(script|style|head)>|<[^>]*>`)

// words returns the message for a person in a body: the message in the usual shapes of JSON, the text of an HTML page,
// or else the whole body.
func (c *Client) words(body []byte) string {
	said, page := string(body), ""
	switch {
	case rawjson.Valid(body):
		said = message(body)
	case strings.HasPrefix(strings.TrimSpace(said), "<"):
		// Hidden before the tags are removed, because a credential may contain what looks like a tag.
		said, page = markup.ReplaceAllString(c.Redact(said), " "), "an HTML page, perhaps not of the agent: "
	}
	said = strings.TrimRight(c.Excerpt(said, saidMost), ".")
	return strings.TrimSuffix(page+said, ": ")
}

// message returns the first of the members that servers use for an error message, or else the whole body.
func message(body []byte) string {
	var of struct{ Message, Error, Detail json.RawMessage }
	_ = json.Unmarshal(body, &of)
	for _, raw := range []json.RawMessage{of.Message, of.Error, of.Detail} {
		if len(raw) == 0 || string(raw) == "null" {
			continue
		}
		var text string
		if json.Unmarshal(raw, &text) == nil {
			return text
		}
		return string(raw)
	}
	return string(body)
}
