package doctor

import (
	"fmt"
	"slices"
	"strings"
)

// longestDescription is how many groups of failures of one table are written out.
const longestDescription = 3

// group is failures of one table that differ in who tried only.
type group struct {
	kinds, levels, personas []string
	verdict                 string
}

// describe puts failures of one table together: first what one persona could do, then the personas that could do the same.
func describe(list []failure) string {
	groups := together(list)
	var parts []string
	for _, g := range groups[:min(longestDescription, len(groups))] {
		text := strings.Join(g.kinds, ", ") + " by " + strings.Join(g.personas, ", ") + " was " + g.verdict
		if len(g.levels) == 1 {
			text += " at " + g.levels[0]
		}
		parts = append(parts, text)
	}
	if more := len(groups) - longestDescription; more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more kinds of failure", more))
	}
	return strings.Join(parts, "; ")
}

func together(list []failure) []group {
	var single, merged []group
	for _, f := range list {
		i := slices.IndexFunc(single, func(g group) bool { return g.personas[0] == f.persona && g.verdict == f.verdict })
		if i < 0 {
			i, single = len(single), append(single, group{personas: []string{f.persona}, verdict: f.verdict})
		}
		single[i].kinds, single[i].levels = with(single[i].kinds, f.kind), with(single[i].levels, f.level)
	}
	for _, one := range single {
		i := slices.IndexFunc(merged, func(g group) bool {
			return g.verdict == one.verdict && slices.Equal(g.kinds, one.kinds) && slices.Equal(g.levels, one.levels)
		})
		if i < 0 {
			merged = append(merged, one)
			continue
		}
		merged[i].personas = append(merged[i].personas, one.personas...)
	}
	return merged
}

func with(list []string, one string) []string {
	if slices.Contains(list, one) {
		return list
	}
	return append(list, one)
}
