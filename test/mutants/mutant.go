package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// mutant is one way to break the code.
type mutant struct {
	// name says what is broken.
	name    string
	changes []change
	// pkg and test are what must notice: a package and a test or subtest in it.
	pkg, test string
}

// change replaces a text that stands exactly once in a file.
type change struct {
	file, old, new string
}

// mutants are all that we know.
func mutants() []mutant {
	return slices.Concat(identityMutants(), guardMutants(), leaseMutants(), verificationMutants(), startMutants(), recoveryMutants(), failureMutants(), workerMutants())
}

// inSQL reports whether only SQL is changed, which needs no compiler.
func (m mutant) inSQL() bool {
	return !slices.ContainsFunc(m.changes, func(c change) bool { return filepath.Ext(c.file) != ".sql" })
}

// write puts the changed files into dir, under their own paths, and returns which ones.
func (m mutant) write(root, dir string) (files []string, err error) {
	texts := map[string]string{}
	for _, c := range m.changes {
		if _, read := texts[c.file]; !read {
			text, err := os.ReadFile(filepath.Join(root, filepath.Clean(c.file)))
			if err != nil {
				return nil, err
			}
			texts[c.file] = string(text)
		}
		if n := strings.Count(texts[c.file], c.old); n != 1 {
			return nil, fmt.Errorf("%s: the text to replace stands there %d times: %q", c.file, n, c.old)
		}
		texts[c.file] = strings.Replace(texts[c.file], c.old, c.new, 1)
	}
	for file, text := range texts {
		if err := put(filepath.Join(dir, file), text); err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	return files, nil
}

func put(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o600)
}

// overlay tells the Go build to take the files from dir. It returns the path of what it wrote.
func overlay(root, dir string, files []string) (string, error) {
	replace := map[string]string{}
	for _, file := range files {
		replace[filepath.Join(root, file)] = filepath.Join(dir, file)
	}
	data, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "overlay.json")
	return path, put(path, string(data))
}

// pattern is the argument of -run that selects the tests.
func pattern(tests []string) string {
	var levels [][]string
	for _, test := range tests {
		for i, name := range strings.Split(test, "/") {
			if i == len(levels) {
				levels = append(levels, nil)
			}
			if quoted := regexp.QuoteMeta(name); !slices.Contains(levels[i], quoted) {
				levels[i] = append(levels[i], quoted)
			}
		}
	}
	parts := make([]string, len(levels))
	for i, names := range levels {
		parts[i] = "^(" + strings.Join(names, "|") + ")$"
	}
	return strings.Join(parts, "/")
}
