package vectorindex

// Fuse returns one score of an item that is so near to a query and has its words with a score from 0 to 1
// (textindex.Corpus.Rank). It is never below the nearness, equal to it without words, and grows with both: what the
// nearness leaves up to 1 is taken in the share of the words. An item without vectors has the nearness 0.
func Fuse(near float32, words float64) float64 {
	n := float64(near)
	return n + (1-n)*words
}
