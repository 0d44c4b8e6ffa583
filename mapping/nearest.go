package mapping

import "strings"

// Nearest returns the known name that was probably meant. It differs from the word only in capitals and underscores, or
// in at most two typos that are not more than half of the word. Nearest returns "" if there is none. It is for hints;
// Misspelt is for refusals.
func Nearest(word string, known []string) string {
	return nearest(word, known, func(d int, _, k string) bool { return 2*d <= len(k) })
}

// Misspelt returns the known name that a word certainly misspells, or "". Requests are refused for it, so words that
// are similar by chance (eventId, agent_id) must not match. It allows one typo, two in long names with the same
// beginning, and a missing "_id".
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

// nearest returns the first of the known names with the fewest typos, at most two, for which pass returns true.
func nearest(word string, known []string, pass func(slips int, word, known string) bool) string {
	best, slips := "", 3
	said := bare(word)
	for _, k := range known {
		meant := bare(k)
		if max(len(said)-len(meant), len(meant)-len(said)) >= slips { // at least that many typos, in a word of any length
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

// editDistance counts the typos between a and b: bytes that are inserted, dropped or replaced, and swapped neighbours.
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
