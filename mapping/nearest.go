package mapping

import "strings"

// Nearest is the known name that a word was probably meant to be: the same but for capitals and
// underscores, or at most two bytes away and not more than half of them. "": none is near.
func Nearest(word string, known []string) string {
	best, distance := "", 3
	for _, k := range known {
		d := editDistance(bare(word), bare(k))
		if d < distance && 2*d <= len(k) {
			best, distance = k, d
		}
	}
	return best
}

func bare(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "")) }

// editDistance counts the bytes to insert, drop or replace to get from a to b.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := diagonal
			if a[i-1] != b[j-1] {
				cost++
			}
			diagonal = row[j]
			row[j] = min(cost, row[j]+1, row[j-1]+1)
		}
	}
	return row[len(b)]
}
