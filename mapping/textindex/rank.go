package textindex

import (
	"math"
	"slices"
)

// How BM25 weighs that a token is there often (saturation), and that a text is long.
const (
	saturation = 1.2
	byLength   = 0.75
)

// Corpus is what a query is asked of.
type Corpus struct {
	Texts int            // how many there are
	Found map[string]int // how many of them have a token of the query
}

// Rank scores texts for a query by Okapi BM25, from 0, which has none of its tokens, to below 1. A token counts for
// more the fewer texts have it.
func (c Corpus) Rank(query []string, bags []Bag) []float64 {
	weights, most := c.weights(query)
	counts, words, all := make([][]int, len(bags)), make([]int, len(bags)), 0
	for i, b := range bags {
		counts[i], words[i] = b.countsOf(query)
		all += words[i]
	}
	mean := float64(all) / float64(max(len(bags), 1))
	scores := make([]float64, len(bags))
	for i := range bags {
		for k, n := range counts[i] {
			if n > 0 {
				scores[i] += weights[k] / most * share(float64(n), float64(words[i])/mean)
			}
		}
	}
	return scores
}

// share is how much of a token's weight a text gets that has it n times; length is in texts of middle length.
func share(n, length float64) float64 {
	return n / (n + saturation*(1-byLength+byLength*length))
}

// weights are those of the tokens, and all together.
func (c Corpus) weights(query []string) (weights []float64, all float64) {
	for _, token := range query {
		found := float64(c.Found[token])
		w := math.Log1p((max(float64(c.Texts)-found, 0) + 0.5) / (found + 0.5))
		weights, all = append(weights, w), all+w
	}
	return weights, all
}

// countsOf is how often a bag has each token of a query, and how many words it has.
func (b Bag) countsOf(query []string) (counts []int, words int) {
	counts = make([]int, len(query))
	for token, n := range b.Counts() {
		words += n
		if k := slices.Index(query, token); k >= 0 {
			counts[k] = n
		}
	}
	return counts, words
}
