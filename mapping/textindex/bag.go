package textindex

import (
	"bytes"
	"iter"
	"maps"
	"slices"
	"strconv"
)

// Of an item the first tokens are kept: each that is different costs the database a row, and each byte of text the
// writer of the item time.
const (
	bagMost      = 2000
	bagMostBytes = 256 << 10
)

// Bag is which tokens texts have, and how often, as the database keeps it: a line for each, in order of the tokens. It
// is nil where there are none.
type Bag []byte

// NewBag returns the bag of texts.
func NewBag(texts iter.Seq[string]) Bag {
	counts, room := map[string]int{}, bagMostBytes
	for text := range texts {
		for token := range Tokens(text[:min(len(text), room)]) {
			if counts[token] > 0 || len(counts) < bagMost {
				counts[token]++
			}
		}
		if room -= len(text); room <= 0 {
			break
		}
	}
	var b Bag
	for _, token := range slices.Sorted(maps.Keys(counts)) {
		b = append(strconv.AppendInt(append(append(b, token...), ' '), int64(counts[token]), 10), '\n')
	}
	return b
}

// Counts ranges over the tokens, with how often each is there. Bytes that are no bag have none.
func (b Bag) Counts() iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		for line := range bytes.Lines(b) {
			token, count, _ := bytes.Cut(bytes.TrimSuffix(line, []byte{'\n'}), []byte{' '})
			if n, err := strconv.Atoi(string(count)); err == nil && !yield(string(token), n) {
				return
			}
		}
	}
}

// Words returns the number of tokens, each counted as often as it is there.
func (b Bag) Words() (n int) {
	for _, count := range b.Counts() {
		n += count
	}
	return n
}
