package vectorindex

// smooth is k of the reciprocal rank fusion: the larger, the less the first ranks count before the later ones (60 is
// from Cormack, Clarke and Büttcher, SIGIR 2009).
const smooth = 60

// Fuse makes one score of several rankings, each of ids with the best first: the sum of 1/(k+rank) over the rankings
// that have an id, in parts of what the first of all of them gets. So a score is above 0 and at most 1.
func Fuse(rankings ...[]string) map[string]float64 {
	scores := map[string]float64{}
	most := float64(len(rankings)) / (smooth + 1)
	for _, ranking := range rankings {
		for at, id := range ranking {
			scores[id] += 1 / (smooth + 1 + float64(at)) / most
		}
	}
	return scores
}
