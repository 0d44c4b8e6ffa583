package credential

import (
	"bytes"
	"cmp"
	"slices"
)

// RunTokenPrefix begins each token that an agent receives for a run, and distinguishes it from a key.
const RunTokenPrefix = "apbridge-run_"

// HiddenText replaces a credential.
const HiddenText = "[hidden]"

// Hide replaces each credential in a text by HiddenText: those of the Set, tokens of runs, values with the names of
// credentials, passwords of URLs, and keys in the form of a known provider. It reads JSON anywhere in the text, and
// texts within it. All other bytes stay as they are, and JSON stays JSON.
func (s Set) Hide(text string) string {
	if found := s.find([]byte(text), 0); len(found) > 0 {
		return string(replace([]byte(text), found))
	}
	return text
}

// HideBytes is Hide for bytes, which it does not change.
func (s Set) HideBytes(b []byte) []byte {
	if found := s.find(b, 0); len(found) > 0 {
		return replace(b, found)
	}
	return b
}

// HideRunTokens removes tokens of runs from a text, even if they are cut off.
func HideRunTokens(text []byte) []byte {
	var found []span
	for at := 0; ; {
		n := bytes.Index(text[at:], []byte(RunTokenPrefix))
		if n < 0 {
			break
		}
		at += n
		if end := runToken(text, at+len(RunTokenPrefix)); end > 0 {
			found = append(found, span{at, end, HiddenText})
		}
		at += len(RunTokenPrefix)
	}
	if found == nil {
		return text
	}
	return replace(text, found)
}

// span is a part of a text that is replaced. In JSON, by includes the quotes that turn a number into a string.
type span struct {
	from, to int
	by       string
}

// replace returns text with each span replaced. Overlapping spans become one.
func replace(text []byte, spans []span) []byte {
	out, at := make([]byte, 0, len(text)), 0
	for _, s := range merge(spans) {
		out = append(append(out, text[at:s.from]...), s.by...)
		at = s.to
	}
	return append(out, text[at:]...)
}

// merge sorts spans and joins overlapping ones.
func merge(spans []span) []span {
	slices.SortFunc(spans, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(b.to, a.to), cmp.Compare(len(b.by), len(a.by)))
	})
	joined := spans[:0]
	for _, s := range spans {
		if n := len(joined); n > 0 && s.from < joined[n-1].to {
			joined[n-1].to = max(joined[n-1].to, s.to)
			continue
		}
		joined = append(joined, s)
	}
	return joined
}
