package vectorindex

// Fuse combines the nearness of an item with its score by words, which is from 0 to 1 (textindex.Corpus.RankForBlend).
// The result grows with both. It is never below the nearness, and equal to it if the score by words is 0. An item
// without vectors has the nearness 0.
func Fuse(near float32, words float64) float64 {
	n := float64(near)
	return n + (1-n)*words
}
