package credential

import (
	"bytes"
	"slices"
	"strings"
)

// form describes a provider's keys: their prefix and the minimum number of further bytes. A key must contain a digit,
// because the prefix may also begin an ordinary word.
type form struct {
	prefix string
	least  int
}

const maxKey = 128 // number of bytes in which there must be a digit

// forms are those of model and tool providers, code hosts and clouds, from their documentation.
var forms = []form{
	{"sk-", 16}, {"sk_", 16}, {"pk-", 16}, {"pk_", 16}, {"rk_live_", 16}, {"rk_test_", 16}, {"lsv2_", 16}, {"gsk_", 20}, {"xai-", 20}, {"pplx-", 20},
	{"nvapi-", 20}, {"tvly-", 16}, {"r8_", 20}, {"hf_", 16}, {"jina_", 20}, {"AIza", 30}, {"ya29.", 20}, {"AKIA", 16}, {"ASIA", 16},
	{"ghp_", 16}, {"gho_", 16}, {"ghu_", 16}, {"ghs_", 16}, {"ghr_", 16}, {"github_pat_", 16}, {"glpat-", 16}, {"npm_", 30}, {"pypi-", 30},
	{"xoxa-", 10}, {"xoxb-", 10}, {"xoxe-", 10}, {"xoxp-", 10}, {"xoxr-", 10}, {"xoxs-", 10}, {"xapp-", 10}, {"whsec_", 16},
	{"dop_v1_", 30}, {"dckr_pat_", 16}, {"SG.", 30},
}

// formsByFirst indexes forms by the first byte.
var formsByFirst = func() (by [256][]form) {
	for _, f := range forms {
		by[f.prefix[0]] = append(by[f.prefix[0]], f)
	}
	return by
}()

// formed returns the bounds of the credential that begins at i according to its form. end is 0 if there is none. For
// "Bearer" and "Basic" it is the next word.
func formed(b []byte, i int) (from, end int) {
	rest := b[i:]
	switch b[i] {
	case 'a':
		if bytes.HasPrefix(rest, []byte(RunTokenPrefix)) {
			return i, runToken(b, i+len(RunTokenPrefix))
		}
	case '-':
		return i, privateKey(b, i)
	case 'e':
		if bytes.HasPrefix(rest, []byte("eyJ")) {
			return i, webToken(b, i)
		}
	case 'B', 'b':
		return schemed(b, i)
	}
	for _, f := range formsByFirst[b[i]] {
		if !bytes.HasPrefix(rest, []byte(f.prefix)) {
			continue
		}
		behind := i + len(f.prefix)
		inKey := func(c byte) bool { return isNameByte(c) && (c != '.' || strings.Contains(f.prefix, ".")) }
		end := skip(b[:min(len(b), behind+maxKey)], behind, inKey)
		if end-behind >= f.least && hasDigit(b[behind:end]) {
			return i, skip(b, end, inKey)
		}
	}
	return 0, 0
}

// runToken returns the end of a run's token, whose prefix ends at i, or 0 if nothing follows.
func runToken(b []byte, i int) int {
	end := skip(b, i, isWordByte)
	if end == i {
		return 0
	}
	if end < len(b) && b[end] == '.' {
		end = skip(b, end+1, isWordByte)
	}
	return end
}

// webToken returns the end of the JSON Web Token at i (RFC 7519), or 0.
func webToken(b []byte, i int) int {
	const leastPart = 8
	for part := range 3 {
		end := skip(b, i, isWordByte)
		if end-i < leastPart || part < 2 && (end == len(b) || b[end] != '.') {
			return 0
		}
		i = end + 1
	}
	return i - 1
}

// privateKey returns the end of the private key at i in the textual encoding of RFC 7468, which may be cut off, or 0.
func privateKey(b []byte, i int) int {
	const begin, label, dashes = "-----BEGIN ", "PRIVATE KEY", "-----"
	if !bytes.HasPrefix(b[i:], []byte(begin)) {
		return 0
	}
	at := i + len(begin)
	end := skip(b, at, func(c byte) bool { return c == ' ' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' })
	if !bytes.Contains(b[at:end], []byte(label)) || !bytes.HasPrefix(b[end:], []byte(dashes)) {
		return 0
	}
	for end += len(dashes); end < len(b); {
		if bytes.HasPrefix(b[end:], []byte(dashes)) {
			if line := skip(b, end+len(dashes), func(c byte) bool { return c == ' ' || isWordByte(c) && c != '-' }); bytes.HasPrefix(b[line:], []byte(dashes)) {
				return line + len(dashes)
			}
			return end
		}
		if c := b[end]; c == '"' || c == '\'' || c == '<' || c == '{' {
			return end
		}
		end++
	}
	return end
}

// schemed returns the bounds of the word after "Bearer" or "Basic" (RFC 9110, section 11.4) at i. end is 0 if it is an
// ordinary word.
func schemed(b []byte, i int) (from, end int) {
	const least = 12
	word := skip(b[:min(len(b), i+len("bearer "))], i, isWordByte)
	scheme := strings.ToLower(string(b[i:word]))
	if scheme != "bearer" && scheme != "basic" {
		return 0, 0
	}
	from = skip(b, word, isBlank)
	end = skip(b, from, func(c byte) bool { return isNameByte(c) || strings.IndexByte("~+/=", c) >= 0 })
	if from == word || end-from < least || !hasDigit(b[from:end]) {
		return 0, 0
	}
	return from, end
}

// skip returns the index of the first byte from i on for which is returns false.
func skip(b []byte, i int, is func(byte) bool) int {
	for i < len(b) && is(b[i]) {
		i++
	}
	return i
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isWordByte(c byte) bool {
	return isDigit(c) || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' || c == '-'
}

func isNameByte(c byte) bool { return isWordByte(c) || c == '.' }

func hasDigit(b []byte) bool { return slices.ContainsFunc(b, isDigit) }
