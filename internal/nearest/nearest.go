// Package nearest finds the word somebody probably meant.
package nearest

import "github.com/agext/levenshtein"

// Of returns the candidate most like word, or "" when none is like it.
func Of(word string, candidates []string) string {
	best, found := 0.55, ""
	for _, c := range candidates {
		if m := levenshtein.Match(word, c, nil); m > best {
			best, found = m, c
		}
	}
	return found
}
