package settings

import (
	"cmp"
	"slices"
	"strings"

	"github.com/kesita/platform/coordination/boot"
)

// Fault is one thing that is wrong with the environment. It never holds a value.
type Fault struct {
	// Variable is the name as it is written in the environment.
	Variable string `json:"variable"`
	// Problem completes the sentence that starts with the name.
	Problem string `json:"problem"`
	// Instead is what to write; may be empty.
	Instead string `json:"instead,omitempty"`
}

// String returns one line.
func (f Fault) String() string {
	if f.Instead == "" {
		return f.Variable + " " + f.Problem
	}
	return f.Variable + " " + f.Problem + "; write " + f.Instead
}

// Faults is the error of Load: everything that is wrong, in the order of the table. It matches
// boot.ErrConfiguration.
type Faults []Fault

// Error implements error, one fault a line.
func (f Faults) Error() string {
	lines := make([]string, len(f))
	for i, fault := range f {
		lines[i] = fault.String()
	}
	return strings.Join(lines, "\n")
}

// Unwrap makes errors.Is find boot.ErrConfiguration: no waiting heals any of this (H6).
func (f Faults) Unwrap() error { return boot.ErrConfiguration }

func (f Faults) about(name string) bool {
	return slices.ContainsFunc(f, func(fault Fault) bool { return fault.Variable == name })
}

func (f Faults) sorted(variables []variable) Faults {
	place := func(fault Fault) int {
		i := slices.IndexFunc(variables, func(v variable) bool { return v.Name == fault.Variable })
		if i < 0 {
			return len(variables)
		}
		return i
	}
	slices.SortStableFunc(f, func(a, b Fault) int {
		return cmp.Or(place(a)-place(b), strings.Compare(a.Variable, b.Variable))
	})
	return f
}
