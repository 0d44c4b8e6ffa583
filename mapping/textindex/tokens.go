package textindex

import (
	"iter"
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// tokenMost bounds a token, in letters. What is longer is found by its beginning.
const tokenMost = 64

// queryMost bounds the tokens of a query.
const queryMost = 64

// unspaced are the scripts that are written without spaces between words.
var unspaced = []*unicode.RangeTable{
	unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar,
}

// Tokens returns the tokens of a text that is to be found: its runs of letters, marks and digits, in the compatibility
// form of Unicode (NFKC) and with case folded. All else only parts them. Of scripts that are written without spaces
// each letter is a token, and so is each pair of neighbours.
func Tokens(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for w := range runs(text) {
			if !w.each(yield, true) {
				return
			}
		}
	}
}

// Query returns the tokens that a query looks for, each once, and the first ones of a long query. Of a run of letters
// without spaces they are the pairs, and the letter where it is alone.
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

// run is a stretch of letters of one kind.
type run struct {
	letters []rune
	pairs   bool // of a script without spaces
}

// runs takes a text apart. A mark belongs to the letter before it.
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

// normal returns a text in the form in which it is compared. Folding can leave letters that are to be composed again.
func normal(text string) string {
	return norm.NFKC.String(oneI(cases.Fold().String(norm.NFKC.String(text))))
}

// oneI replaces the dotted and the dotless i of Turkish by i. Folding leaves İ as an i with a combining dot, and ı
// apart from I, its capital.
func oneI(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, "i\u0307", "i"), "ı", "i")
}

// each yields the tokens of a run, and with singles each letter of one without spaces.
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
