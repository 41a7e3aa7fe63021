package settings

import (
	"slices"
	"strings"
)

// productPrefix is what people put in front of a variable when they expect one.
const productPrefix = "KESITA_"

// misspelled points at variables that nobody reads but that look like one that is not set. They are faults: the
// default that silently took the value's place would be found much later.
func misspelled(given map[string]string, variables []variable) Faults {
	known := func(name string) bool {
		return slices.ContainsFunc(variables, func(v variable) bool { return v.Name == name })
	}
	var faults Faults
	for name := range given {
		if known(name) {
			continue
		}
		for _, v := range variables {
			if given[v.Name] == "" && resembles(name, v.Name) {
				faults = append(faults, Fault{Variable: name, Problem: "is not a known variable", Instead: v.Name})
				break
			}
		}
	}
	return faults
}

func resembles(name, known string) bool {
	name = strings.TrimPrefix(strings.ToUpper(name), productPrefix)
	return name == known || distance(name, known) <= min(2, len(known)/5)
}

// distance is the least number of letters to insert, delete or replace that turns a into b.
func distance(a, b string) int {
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
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
