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
	return rank(query, bags, weights, most)
}

// RankBeside scores texts as Rank does, for a score that is combined with another one. Common tokens count for less, as
// weights are squared. If all tokens of a query together weigh less than a token that a single text has, all scores are
// lower by that.
func (c Corpus) RankBeside(query []string, bags []Bag) []float64 {
	weights, _ := c.weights(query)
	all := 0.0
	for i, w := range weights {
		weights[i] = w * w
		all += w * w
	}
	rare := c.weight(1)
	return rank(query, bags, weights, max(all, rare*rare))
}

func rank(query []string, bags []Bag, weights []float64, most float64) []float64 {
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
		w := c.weight(c.Found[token])
		weights, all = append(weights, w), all+w
	}
	return weights, all
}

// weight is that of a token that so many texts have.
func (c Corpus) weight(found int) float64 {
	return math.Log1p((max(float64(c.Texts-found), 0) + 0.5) / (float64(found) + 0.5))
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
