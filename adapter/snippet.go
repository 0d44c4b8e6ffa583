package adapter

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/apbridge/apbridge/mapping/rawjson"
)

// SnippetParams describes a run on a new thread that a program requests. The texts are untrusted; programs contain them
// as data.
type SnippetParams struct {
	URL     string // of the bridge, without a trailing slash
	Agent   string // name for clients
	Default bool   // the agent is the default for requests without a name
	Keys    bool   // the bridge requires keys
	Input   json.RawMessage
	Words   string // the text of the input, for dialects that use text
}

// Snippet is a program or command that requests a run, for users to copy. If the bridge requires keys, it reads one
// from the environment variable APBRIDGE_KEY and contains none.
type Snippet struct {
	ID       string `json:"-"` // its place on a page, unique among all dialects
	Language string `json:"language"`
	About    string `json:"about"`
	Text     string `json:"text"`
}

// Programs are the snippets for clients of one dialect.
type Programs struct {
	Dialect  string    `json:"dialect"`
	Snippets []Snippet `json:"code"`
}

// Quoted returns a text as a string of JSON, JavaScript and Python in ASCII, so that a copy of it contains nothing
// invisible.
func Quoted(text string) string { return InASCII(rawjson.Quote(strings.ToValidUTF8(text, "\ufffd"))) }

// InASCII returns JSON with \u escapes for all other characters, which only occur in strings. It returns null for
// invalid JSON.
func InASCII(value json.RawMessage) string {
	value = rawjson.Compact(value)
	if len(value) == 0 || !utf8.Valid(value) {
		return "null"
	}
	var b strings.Builder
	for _, c := range string(value) {
		switch {
		case c < 0x7f:
			b.WriteRune(c)
		case c > 0xffff:
			high, low := utf16.EncodeRune(c)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, c)
		}
	}
	return b.String()
}

// InShell returns a text as a single word for a POSIX shell, without any expansion.
func InShell(text string) string {
	if text != "" && strings.Trim(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~:/") == "" {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// CurlKey returns curl's option for the header with the key and a space, or "" if no key is required.
func (a SnippetParams) CurlKey() string {
	if !a.Keys {
		return ""
	}
	return `-H "x-api-key: $APBRIDGE_KEY" `
}
