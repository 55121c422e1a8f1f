package catalog

import (
	"slices"
	"strings"
)

// maxCandidates bounds how many names are compared for a suggestion.
const maxCandidates = 200

// didYouMean is ", did you mean x?" for the name most like text, or nothing
// when none is like it.
func didYouMean(text string, names []string) string {
	if len(text) > maxNameInPath || len(names) > maxCandidates {
		return ""
	}
	slices.Sort(names)
	best, least := "", len(text)/3+1
	for _, name := range names {
		if len(name) > maxNameInPath {
			continue
		}
		if d := distance(strings.ToLower(text), strings.ToLower(name)); d < least {
			best, least = name, d
		}
	}
	if best == "" {
		return ""
	}
	return ", did you mean " + best + "?"
}

// distance counts the insertions, deletions and replacements of bytes, and the
// swaps of neighbours, that turn a into b.
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before, last, row = last, row, before
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j+1]+1, row[j]+1, last[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}
