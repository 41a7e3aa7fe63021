package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// summary counts how tests ended. Packages without tests, which go test calls
// skipped as well, are left out.
type summary struct {
	passed, failed int
	skipped        []string
}

// event is the part of a test2json line that matters here.
type event struct {
	Action, Package, Test string
}

func (s *summary) addFile(path string) error {
	file, err := os.Open(filepath.Clean(path))
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	if err := s.add(file); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}

func (s *summary) add(log io.Reader) error {
	for decoder := json.NewDecoder(log); ; {
		var next event
		err := decoder.Decode(&next)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if next.Test != "" {
			s.count(next)
		}
	}
}

func (s *summary) count(e event) {
	switch e.Action {
	case "pass":
		s.passed++
	case "fail":
		s.failed++
	case "skip":
		s.skipped = append(s.skipped, e.Package+"."+e.Test)
	}
}

func (s *summary) good() bool {
	return len(s.skipped) == 0 && s.passed > 0
}

// String is one line, and one more for each skipped test.
func (s *summary) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%d passed, %d failed, %d skipped", s.passed, s.failed, len(s.skipped))
	for _, name := range s.skipped {
		fmt.Fprintf(&text, "\nskipped: %s", name)
	}
	return text.String()
}
