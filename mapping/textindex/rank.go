package textindex

import (
	"math"
	"slices"
)

// The parameters of BM25: saturation for frequent tokens, and normalization for long texts.
const (
	saturation = 1.2
	byLength   = 0.75
)

// Corpus describes the texts that are searched.
type Corpus struct {
	Texts int            // number of texts
	Found map[string]int // number of texts with each token of the query
}

// Rank scores texts for a query by Okapi BM25, from 0, for a text without its tokens, to below 1. Rare tokens have a
// higher weight.
func (c Corpus) Rank(query []string, bags []Bag) []float64 {
	weights, most := c.weights(query)
	return rank(query, bags, weights, most)
}

// RankForBlend scores texts like Rank, for a score that is combined with another one. Common tokens have less weight,
// because weights are squared. If all tokens of a query together weigh less than a token that only one text has, all
// scores are reduced accordingly.
func (c Corpus) RankForBlend(query []string, bags []Bag) []float64 {
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

// share returns the share of a token's weight for a text with n occurrences. length is relative to the average length.
func share(n, length float64) float64 {
	return n / (n + saturation*(1-byLength+byLength*length))
}

// weights returns the weights of the tokens, and their sum.
func (c Corpus) weights(query []string) (weights []float64, all float64) {
	for _, token := range query {
		w := c.weight(c.Found[token])
		weights, all = append(weights, w), all+w
	}
	return weights, all
}

// weight returns the weight of a token in found texts.
func (c Corpus) weight(found int) float64 {
	return math.Log1p((max(float64(c.Texts-found), 0) + 0.5) / (float64(found) + 0.5))
}

// countsOf returns the counts of a query's tokens in a bag, and its number of words.
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
