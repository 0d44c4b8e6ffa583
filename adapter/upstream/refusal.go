package upstream

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

const (
	saidMost  = 300 // maximum characters shown from the agent's message
	afterMost = 40  // maximum characters shown from its Retry-After header
)

// refusal explains an error status to an operator of the bridge.
type refusal struct {
	means string
	do    string // advice; may be empty
	// quiet suppresses the agent's message. Some servers repeat the credential or a hash of it; others send nothing
	// useful.
	quiet bool
}

var (
	refusedCredentials = refusal{"it does not accept the bridge's credentials", "Check the headers of the agent in the configuration", true}
	refusedSize        = refusal{"the request is too large for it", "Shorten the input or set memory.history to last or none", true}
	refusedNow         = refusal{"it is overloaded", "Try again later or lower its concurrency", false}
	refusedAddress     = refusal{"redirects are not followed", "Configure the final url", true}
)

// refusalOf returns the explanation of a status. It is shared by all dialects.
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

// Refusal returns the text to follow the status of an error response: an explanation, the agent's message and advice.
// An example is ": it is overloaded: slow down. Try again later or lower its concurrency." If there is nothing to add,
// it is only ".". The text contains no credentials.
func (c *Client) Refusal(status int, header http.Header, body []byte) string {
	r := refusalOf(status)
	parts := []string{""}
	if r.means != "" {
		parts = append(parts, r.means)
	}
	if said := c.shownMessage(body); said != "" && !r.quiet {
		parts = append(parts, said)
	}
	text := strings.Join(parts, ": ")
	if after := header.Get("Retry-After"); after != "" && !r.quiet {
		text += " (Retry-After: " + c.Excerpt(after, afterMost) + ")"
	}
	if r.do != "" {
		text += ". " + r.do
	}
	return text + "."
}

var markup = regexp.MustCompile(`(?s)<(script|style|head)[^>]*>.*?</(script|style|head)>|<[^>]*>`)

// shownMessage returns an excerpt of the error message in a response body, without credentials. It finds the message in
// common JSON formats and in the text of an HTML page. For any other body it uses the whole body.
func (c *Client) shownMessage(body []byte) string {
	said, page := string(body), ""
	switch {
	case rawjson.Valid(body):
		said = message(body)
	case strings.HasPrefix(strings.TrimSpace(said), "<"):
		// Redact before the tags are removed, because a part of a credential may look like a tag.
		said, page = markup.ReplaceAllString(c.Redact(said), " "), "an HTML page, perhaps not from the agent: "
	}
	said = strings.TrimRight(c.Excerpt(mapping.WithoutTraceback(said), saidMost), ".")
	return strings.TrimSuffix(page+said, ": ")
}

// message returns the first member that servers commonly use for an error message, or the whole body.
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
