package inspect

import (
	"strings"
	"unicode"
)

// piece is a part of two compared texts.
type piece struct {
	Kind matchKind `json:"kind"`
	Text string    `json:"text"`
}

// matchKind is the relation between the parts of two compared runs, a and b.
type matchKind string

const (
	inBoth  matchKind = "same"
	differs matchKind = "differs" // is in both, but not the same
	onlyA   matchKind = "only_a"
	onlyB   matchKind = "only_b"
)

// wordDifference compares texts word by word. The pieces that are not only_b make up a, those that are not only_a make
// up b. Texts that have little in common differ as a whole. work bounds the comparison and is reduced by its size, the
// product of the numbers of words between the common beginning and end of the texts. If work is too small, everything
// between these differs.
func wordDifference(a, b string, work *int) []piece {
	x, y := wordsOf(a), wordsOf(b)
	inA, inB := countWords(x), countWords(y)
	begin, end := 0, 0
	for begin < min(len(x), len(y)) && x[begin] == y[begin] {
		begin++
	}
	var p pieces
	p.add(inBoth, x[:begin]...)
	x, y = x[begin:], y[begin:]
	for end < min(len(x), len(y)) && x[len(x)-1-end] == y[len(y)-1-end] {
		end++
	}
	ending := x[len(x)-end:]
	x, y = x[:len(x)-end], y[:len(y)-end]
	if size := len(x) * len(y); size > *work {
		p.differ(x, y)
	} else {
		*work -= size
		p.compare(x, y)
	}
	p.add(inBoth, ending...)
	edges := inA - countWords(x)
	if common := p.countCommon(); 2*edges < min(inA, inB) && float64(2*common) < leastCommon*float64(inA+inB) {
		p = nil
		p.differ([]string{a}, []string{b})
	}
	return p
}

// leastCommon is the least part of the words of two texts that must be common for them to be compared word by word,
// unless half of the shorter text is the beginning and the end of the longer one. Otherwise the common words are chance,
// and the marks of the others hard to read.
const leastCommon = 0.4

// countWords returns the number of words without spaces and punctuation.
func countWords(list []string) (n int) {
	for _, w := range list {
		if hasLetters(w) {
			n++
		}
	}
	return n
}

type pieces []piece

// countCommon returns the number of words that are in both texts.
func (p pieces) countCommon() (n int) {
	for _, one := range p {
		if one.Kind == inBoth {
			n += countWords(wordsOf(one.Text))
		}
	}
	return n
}

// compare adds the longest common subsequence of two lists of words, and the words that are only in one of them.
func (p *pieces) compare(x, y []string) {
	pairs := align(x, y, func(a, b string) float32 { return equal(a == b) })
	i, j := 0, 0
	for _, at := range append(pairs, [2]int{len(x), len(y)}) {
		p.differ(x[i:at[0]], y[j:at[1]])
		if at[0] < len(x) {
			p.add(inBoth, x[at[0]])
		}
		i, j = at[0]+1, at[1]+1
	}
}

// differ adds words that are only in a, and words that are only in b. A space between two differences belongs to both,
// so that they are one.
func (p *pieces) differ(x, y []string) {
	if len(x) == 0 && len(y) == 0 {
		return
	}
	list := *p
	n := len(list) - 1
	if n >= 1 && list[n].Kind == inBoth && list[n].Text == " " {
		*p = list[:n]
		x, y = append([]string{" "}, x...), append([]string{" "}, y...)
	}
	a, b := strings.Join(x, ""), strings.Join(y, "")
	if n = len(*p) - 1; n >= 0 && (*p)[n].Kind == onlyB { // the piece before it may be only in a
		b, *p = (*p)[n].Text+b, (*p)[:n]
	}
	if n = len(*p) - 1; n >= 0 && (*p)[n].Kind == onlyA {
		a, *p = (*p)[n].Text+a, (*p)[:n]
	}
	p.add(onlyA, a)
	p.add(onlyB, b)
}

func (p *pieces) add(kind matchKind, words ...string) {
	text := strings.Join(words, "")
	if n := len(*p) - 1; n >= 0 && (*p)[n].Kind == kind {
		(*p)[n].Text += text
	} else if text != "" {
		*p = append(*p, piece{kind, text})
	}
}

// align returns the places of pairs of two lists, in the order of both, whose weights have the largest sum. Elements with
// the weight 0 are never a pair.
func align[T any](x, y []T, weight func(a, b T) float32) (pairs [][2]int) {
	width := len(y) + 1
	best := make([]float32, (len(x)+1)*width) // sum of the pairs from these places
	for i := len(x) - 1; i >= 0; i-- {
		for j := len(y) - 1; j >= 0; j-- {
			at := i*width + j
			best[at] = max(best[at+width], best[at+1])
			if w := weight(x[i], y[j]); w > 0 {
				best[at] = max(best[at], w+best[at+width+1])
			}
		}
	}
	for i, j := 0, 0; i < len(x) && j < len(y); {
		at := i*width + j
		switch w := weight(x[i], y[j]); {
		case w > 0 && best[at] == w+best[at+width+1]:
			pairs = append(pairs, [2]int{i, j})
			i, j = i+1, j+1
		case best[at+width] >= best[at+1]:
			i++
		default:
			j++
		}
	}
	return pairs
}

// hasLetters reports whether a word is more than spaces, punctuation and symbols.
func hasLetters(word string) bool {
	return strings.ContainsFunc(word, func(c rune) bool { return unicode.IsLetter(c) || unicode.IsDigit(c) })
}

// equal returns the weight of a pair that must be equal.
func equal(yes bool) float32 {
	if yes {
		return 1
	}
	return 0
}

// wordsOf splits a text into words, the spaces between them, and single other characters. A character stays whole with
// its marks and joiners. In scripts without spaces between words each character is a word.
func wordsOf(text string) (list []string) {
	begin, last := 0, rune(-1)
	for i, c := range text {
		if i > 0 && !joins(last, c) {
			list = append(list, text[begin:i])
			begin = i
		}
		last = c
	}
	if begin < len(text) {
		list = append(list, text[begin:])
	}
	return list
}

const (
	joiner    = '\u200d'
	nonJoiner = '\u200c'
)

// joins reports whether c belongs to the word that ends with last.
func joins(last, c rune) bool {
	switch {
	case unicode.Is(unicode.M, c) || c == joiner || c == nonJoiner || c >= 0x1f3fb && c <= 0x1f3ff || c >= 0xe0020 && c <= 0xe007f: // skin tones, tags of flags
		return true
	case last == joiner || last == nonJoiner:
		return true
	case isFlagLetter(c):
		return isFlagLetter(last)
	case unicode.IsSpace(c):
		return unicode.IsSpace(last)
	}
	return ofWords(c) && (ofWords(last) || unicode.Is(unicode.M, last))
}

// isFlagLetter reports whether c is a regional indicator, of which two make a flag.
func isFlagLetter(c rune) bool { return c >= 0x1f1e6 && c <= 0x1f1ff }

// ofWords reports whether c is a letter or digit of a script with spaces between words.
func ofWords(c rune) bool {
	return (unicode.IsLetter(c) || unicode.IsDigit(c) || c == '_' || c == '\'' || c == '’') &&
		!unicode.In(c, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}
