package textindex

import (
	"iter"
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// tokenMost is the maximum length of a token in letters. A longer one is found by its beginning.
const tokenMost = 64

// queryMost is the maximum number of tokens of a query.
const queryMost = 64

// unspaced are the scripts without spaces between words.
var unspaced = []*unicode.RangeTable{
	unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar,
}

// Tokens returns the tokens of a text for the index: its runs of letters, marks and digits, in the compatibility form
// of Unicode (NFKC) and with case folded. Other characters separate them. In scripts without spaces each letter and
// each pair of adjacent letters is a token.
func Tokens(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for w := range runs(text) {
			if !w.each(yield, true) {
				return
			}
		}
	}
}

// Query returns the tokens of a query without duplicates, and only the first ones of a long query. In scripts without
// spaces they are the pairs, and letters that stand alone.
func Query(text string) (tokens []string) {
	seen := map[string]bool{}
	for w := range runs(text) {
		w.each(func(token string) bool {
			if !seen[token] && len(tokens) < queryMost {
				seen[token] = true
				tokens = append(tokens, token)
			}
			return len(tokens) < queryMost
		}, false)
	}
	return tokens
}

// run is a sequence of letters of one kind.
type run struct {
	letters []rune
	pairs   bool // of a script without spaces
}

// runs splits a text. A mark belongs to the letter before it.
func runs(text string) iter.Seq[run] {
	return func(yield func(run) bool) {
		var w run
		end := func() bool {
			ended := w
			w = run{}
			return len(ended.letters) == 0 || yield(ended)
		}
		for _, r := range normal(text) {
			switch pairs := unicode.In(r, unspaced...); {
			case unicode.Is(unicode.M, r) && len(w.letters) > 0:
			case !unicode.In(r, unicode.L, unicode.N):
				if !end() {
					return
				}
				continue
			case pairs != w.pairs:
				if !end() {
					return
				}
				w.pairs = pairs
			}
			w.letters = append(w.letters, r)
		}
		end()
	}
}

// normal returns a text in the form for comparisons. Folding can leave letters that need to be composed again.
func normal(text string) string {
	return norm.NFKC.String(oneI(cases.Fold().String(norm.NFKC.String(text))))
}

// oneI replaces the dotted and the dotless i of Turkish by i. Folding turns İ into an i with a combining dot, and
// leaves ı different from I, its capital.
func oneI(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, "i\u0307", "i"), "ı", "i")
}

// each yields the tokens of a run. With singles it also yields each letter of a script without spaces.
func (w run) each(yield func(string) bool, singles bool) bool {
	if !w.pairs {
		return yield(string(w.letters[:min(len(w.letters), tokenMost)]))
	}
	for i := range w.letters {
		if (singles || len(w.letters) == 1) && !yield(string(w.letters[i:i+1])) {
			return false
		}
		if i > 0 && !yield(string(w.letters[i-1:i+1])) {
			return false
		}
	}
	return true
}
