package mapping

import "strings"

// Nearest returns the known name that a word was probably meant to be: the same but for capitals and underscores, or at
// most two slips away and not more than half of them. It returns "" where none is near. It is for advice; Misspelt is
// for refusals.
func Nearest(word string, known []string) string {
	return nearest(word, known, func(d int, _, k string) bool { return 2*d <= len(k) })
}

// Misspelt returns the known name that a word can only have been meant to be: a request is refused for it, so that two
// words which are alike by chance (eventId, agent_id) must not be taken for one another. It allows one slip, in long
// names two after an equal beginning, and a lost "_id".
func Misspelt(word string, known []string) string {
	return nearest(word, known, func(d int, w, k string) bool {
		w, short := bare(w), bare(k)
		switch {
		case d == 0 || strings.TrimSuffix(k, "_id") == w:
			return true
		case d == 1:
			return len(short) > 2
		}
		return len(short) > 8 && w != "" && w[0] == short[0]
	})
}

// nearest is the first of the known names that are fewest slips, at most two, away from a word, of those that a rule
// lets pass.
func nearest(word string, known []string, pass func(slips int, word, known string) bool) string {
	best, slips := "", 3
	said := bare(word)
	for _, k := range known {
		meant := bare(k)
		if max(len(said)-len(meant), len(meant)-len(said)) >= slips { // as many slips at least, in a word of any length
			continue
		}
		d := editDistance(said, meant)
		if d < slips && pass(d, word, k) {
			best, slips = k, d
		}
	}
	return best
}

func bare(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "")) }

// editDistance counts the slips between a and b: bytes that are inserted, dropped or replaced, and neighbours that have
// changed places.
func editDistance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, last, row = last, row, before
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := last[j-1]
			if a[i-1] != b[j-1] {
				cost++
			}
			row[j] = min(cost, last[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
	}
	return row[len(b)]
}
