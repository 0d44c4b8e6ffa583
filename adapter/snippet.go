package adapter

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/apbridge/apbridge/mapping/rawjson"
)

// SnippetParams describes a run that a program requests, on a thread of its own. The texts are untrusted. Programs hold
// them as data.
type SnippetParams struct {
	URL     string // of the bridge, without a slash at its end
	Agent   string // as clients name it
	Default bool   // the agent is the one that requests without a name mean
	Keys    bool   // the bridge asks for keys
	Input   json.RawMessage
	Words   string // what the input says, for dialects that take words
}

// Snippet is a program or command for people to copy that requests a run. If the bridge requires keys, it reads one
// from the environment variable APBRIDGE_KEY and contains none.
type Snippet struct {
	ID       string `json:"-"` // its place on a page; no other program of any dialect has it
	Language string `json:"language"`
	About    string `json:"about"`
	Text     string `json:"text"`
}

// Programs are the snippets for clients of one dialect.
type Programs struct {
	Dialect  string    `json:"dialect"`
	Snippets []Snippet `json:"code"`
}

// Quoted returns a text as JSON, JavaScript and Python write it, in ASCII, so that nothing invisible is copied with it.
func Quoted(text string) string { return InASCII(rawjson.Quote(strings.ToValidUTF8(text, "\ufffd"))) }

// InASCII returns JSON with all but ASCII as \u escapes, which only strings have. What is no JSON is null.
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

// InShell returns a word for a POSIX shell, in which nothing stands for anything else.
func InShell(text string) string {
	if text != "" && strings.Trim(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~:/") == "" {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// CurlKey returns the header with the key as curl is told it, with a space after it; "" where none is asked for.
func (a SnippetParams) CurlKey() string {
	if !a.Keys {
		return ""
	}
	return `-H "x-api-key: $APBRIDGE_KEY" `
}
