package policy_test

import (
	"go/ast"
	"slices"
	"strings"
)

// layers says which packages of coordination each of its packages may import.
// The root wires all of them and is imported by none. A new package needs a row.
func layers() map[string][]string {
	return map[string][]string{
		"timing":     {},
		"signal":     {"fault"},
		"service":    {},
		"fault":      {},
		"schema":     {"fault"},
		"health":     {"signal"},
		"guard":      {"fault", "timing"},
		"journal":    {"timing"},
		"lease":      {"fault", "schema", "service", "signal", "timing"},
		"probe":      {"service", "signal", "timing"},
		"watchdog":   {"service", "signal", "timing"},
		"backlog":    {"journal", "service", "signal", "timing"},
		"recovery":   {"fault", "journal", "service", "signal", "timing"},
		"quarantine": {"journal", "service", "signal", "timing"},
		"stray":      {"journal", "service", "signal", "timing"},
		"outbound":   {},
		"retention":  {"fault", "journal", "service", "signal", "timing"},
		"explain":    {"journal"},
		"operator":   {"fault", "journal", "lease", "timing"},
		"doctor":     {"fault", "guard", "journal", "schema", "timing"},
		"workflow":   {"fault", "journal", "signal", "timing"},
		"submit":     {"guard", "journal", "timing", "workflow"},
		"boot":       {"fault", "guard", "journal", "lease", "schema", "signal", "timing"},
	}
}

// services are the parts of worker that run as processes of their own; one
// never imports another. exports are the packages that they publish.
func services() []string { return []string{"worker/corpus", "worker/product", "worker/provider"} }
func exports() []string  { return []string{"worker/provider/contract"} }

// importRules are about who may know whom. Tests may know more.
func importRules() []rule {
	uses := func(dir, imports string) map[string]string {
		return one(dir+"/a.go", "package a\nimport _ \""+module+"/"+imports+"\"\n")
	}
	return []rule{
		{
			name:  "CoordinationKnowsNoWorker",
			why:   "other teams import it without ours",
			check: ban(func(from, to string) bool { return within(from, "coordination") && !within(to, "coordination") }),
			bad:   []map[string]string{uses("coordination/lease", "worker/localpg"), uses("coordination", "cmd/kesita")},
			good:  []map[string]string{uses("coordination", "coordination/lease"), uses("worker/app", "coordination")},
		},
		{
			name:  "CoordinationImportsDownwards",
			why:   "the table in this test is the architecture",
			check: ban(climbs),
			bad: []map[string]string{
				uses("coordination/timing", "coordination/signal"),
				uses("coordination/lease", "coordination/recovery"),
				uses("coordination/lease", "coordination"),
				uses("coordination/unheard", "coordination/timing"),
			},
			good: []map[string]string{uses("coordination/lease", "coordination/timing"), uses("coordination", "coordination/boot")},
		},
		{
			name:  "ServicesDoNotKnowEachOther",
			why:   "each has its own database, release and failure",
			check: ban(crosses),
			bad:   []map[string]string{uses("worker/product/store", "worker/corpus/domain"), uses("worker/corpus", "worker/provider")},
			good:  []map[string]string{uses("worker/product", "worker/product/store"), uses("worker/product", "worker/provider/contract"), uses("worker/demo", "worker/product")},
		},
		{
			name:  "ThePrivateServerKnowsNobody",
			why:   "it serves the demo and every test, those of coordination included",
			check: ban(func(from, to string) bool { return within(from, "worker/localpg") && !within(to, "worker/localpg") }),
			bad:   []map[string]string{uses("worker/localpg", "coordination/timing")},
			good:  []map[string]string{uses("worker/localpg/localpgtest", "worker/localpg")},
		},
		{
			name:  "ProductionImportsNoTestCode",
			why:   "packages below test and packages named ...test come with test libraries",
			check: ban(func(_, to string) bool { return testFolder(to) }),
			bad:   []map[string]string{uses("worker/demo", "worker/localpg/localpgtest"), uses("worker/demo", "test/harness")},
			good:  []map[string]string{uses("test/fixture", "worker/localpg/localpgtest"), uses("worker/demo", "worker/localpg")},
		},
		{
			name:  "CommandsImportOnlyWorkers",
			why:   "a main hands over to one function",
			check: ban(func(from, to string) bool { return within(from, "cmd") && !within(to, "worker") }),
			bad:   []map[string]string{uses("cmd/corpus", "coordination/lease")},
			good:  []map[string]string{uses("cmd/corpus", "worker/corpus")},
		},
	}
}

// ban flags production imports between folders of the tree.
func ban(forbidden func(from, to string) bool) func(*tree) []finding {
	return func(t *tree) []finding {
		return t.each(production, func(f *file, node ast.Node) string {
			spec, ok := node.(*ast.ImportSpec)
			if !ok {
				return ""
			}
			to, ok := strings.CutPrefix(importOf(spec), module+"/")
			if ok && forbidden(f.dir(), to) {
				return f.dir() + " imports " + to
			}
			return ""
		})
	}
}

func climbs(from, to string) bool {
	if !within(from, "coordination") || !within(to, "coordination") || from == "coordination" {
		return false
	}
	name, _, _ := strings.Cut(strings.TrimPrefix(from, "coordination/"), "/")
	target, _, _ := strings.Cut(strings.TrimPrefix(to, "coordination/"), "/")
	return target != name && !slices.Contains(layers()[name], target)
}

func crosses(from, to string) bool {
	for _, service := range services() {
		if within(to, service) && slices.ContainsFunc(services(), func(other string) bool { return other != service && within(from, other) }) {
			return !slices.Contains(exports(), to)
		}
	}
	return false
}
