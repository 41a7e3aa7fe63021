package doctor

import (
	"fmt"
	"slices"
	"strings"
)

// longestDescription is how many groups of failures of one table are written out.
const longestDescription = 4

// describe puts failures of one table together that differ in the kind of write or in the isolation level only.
func describe(list []failure) string {
	var order []string
	kinds, levels := map[string][]string{}, map[string][]string{}
	for _, f := range list {
		if kinds[f.what] == nil {
			order = append(order, f.what)
		}
		kinds[f.what], levels[f.what] = with(kinds[f.what], f.kind), with(levels[f.what], f.level)
	}
	var parts []string
	for _, what := range order[:min(longestDescription, len(order))] {
		text := strings.Join(kinds[what], ", ") + " " + what
		if len(levels[what]) == 1 {
			text += " at " + levels[what][0]
		}
		parts = append(parts, text)
	}
	if more := len(order) - longestDescription; more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(parts, "; ")
}

func with(list []string, one string) []string {
	if slices.Contains(list, one) {
		return list
	}
	return append(list, one)
}
