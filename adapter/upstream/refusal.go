package upstream

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"

	"github.com/apbridge/apbridge/mapping/rawjson"
)

const (
	saidMost  = 300 // characters that are shown of what an agent says about a refusal
	afterMost = 40  // and of its Retry-After
)

// refusal is what a status that is no success means to an operator of the bridge.
type refusal struct {
	means string
	do    string // what to do about it; "": nothing general
	// quiet: what the agent says is kept back. Some servers repeat the credential, or a hash of it; others have nothing
	// to say.
	quiet bool
}

var (
	refusedCredentials = refusal{"it does not accept the bridge's credentials", "Check the headers of the agent in the configuration", true}
	refusedSize        = refusal{"it finds the request too large", "Shorten the input or set memory.history to last or none", true}
	refusedNow         = refusal{"it is overloaded", "Try again later or lower its concurrency", false}
	refusedAddress     = refusal{"redirects are not followed", "Configure the final url", true}
)

// refusalOf is the one table of these meanings, for the agents of all dialects.
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

// Refusal returns what to say after the status of an answer that is no success: its meaning, what the agent says and
// what to do, as in ": it is overloaded: slow down. Try again later.", or only "." It has no credentials in it.
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

// words is what a body says to a person: the message of the usual shapes of JSON, the text of a page, else the whole.
func (c *Client) words(body []byte) string {
	said, page := string(body), ""
	switch {
	case rawjson.Valid(body):
		said = message(body)
	case strings.HasPrefix(strings.TrimSpace(said), "<"):
		// Hidden before tags are taken out: a credential may have what looks like one.
		said, page = markup.ReplaceAllString(c.Redact(said), " "), "an HTML page, perhaps not of the agent: "
	}
	said = strings.TrimRight(c.Excerpt(said, saidMost), ".")
	return strings.TrimSuffix(page+said, ": ")
}

// message is the first of the members in which servers put their complaint, else the whole.
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
