// Package spelling finds what somebody meant who mistyped a name.
package spelling

import "strings"

// longest bounds the words that are compared, so that a hostile one costs
// nothing.
const longest = 256

// Nearest returns the candidate that needs the fewest edits to become word,
// the first one of several; "" if none is so near that it may have been meant.
func Nearest(word string, candidates []string) string {
	best, least := "", -1
	for _, candidate := range candidates {
		n := edits(word, candidate)
		if near(word, candidate, n) && (least < 0 || n < least) {
			best, least = candidate, n
		}
	}
	return best
}

// near says whether word may have been meant for a candidate that is so many
// edits away: one in three bytes is wrong, or it is a part of it.
func near(word, candidate string, edits int) bool {
	return edits <= max(1, len(word)/3) || len(word) > 2 && strings.Contains(candidate, word)
}

// edits is the number of bytes to insert, remove or replace to make b of a.
func edits(a, b string) int {
	if len(a) > longest || len(b) > longest {
		return max(len(a), len(b))
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
