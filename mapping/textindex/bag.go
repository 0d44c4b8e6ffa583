package textindex

import (
	"bytes"
	"iter"
	"maps"
	"slices"
	"strconv"
)

// Only the first tokens of an item are indexed. Each distinct token needs a row in the database, and each byte of text
// costs the writer time.
const (
	bagMost      = 2000
	bagMostBytes = 256 << 10
)

// Bag holds the tokens of texts with their counts as stored in the database: one per line, sorted by token. It is nil
// if there are none.
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

// Counts ranges over the tokens and their counts. Invalid bytes have none.
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

// Words returns the sum of all counts.
func (b Bag) Words() (n int) {
	for _, count := range b.Counts() {
		n += count
	}
	return n
}
