package localpg

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sort"
	"strconv"
	"strings"
)

// oldest is the first PostgreSQL major with MERGE, which the write guards cover.
const oldest = 15

// ErrNoBinaries says that the machine has no PostgreSQL that can be used, and
// that fetching one did not work.
var ErrNoBinaries = errors.New("no PostgreSQL server binaries")

// versionNumber finds the major in "postgres (PostgreSQL) 15.9 (Debian ...)".
var versionNumber = regexp.MustCompile(`\(PostgreSQL\) (\d+)`)

// folderNumber finds the version in a distribution's folder name.
var folderNumber = regexp.MustCompile(`\d+(\.\d+)?`)

// binaries are the tools of one PostgreSQL version in one folder.
type binaries struct {
	dir   string
	major int
}

func (b binaries) tool(name string) string { return filepath.Join(b.dir, name) }

// search is where to look and how to fetch; tests replace both.
type search struct {
	path     string
	patterns []string
	account  *account
	fetch    func(context.Context) (string, error)
}

// locate finds binaries as Options say.
func locate(ctx context.Context, options Options, runAs *account, progress func(string)) (binaries, error) {
	if options.BinDir != "" {
		return inspect(ctx, options.BinDir, runAs)
	}
	return search{
		path:     os.Getenv("PATH"),
		patterns: distributionFolders(),
		account:  runAs,
		fetch: func(ctx context.Context) (string, error) {
			return fetch(ctx, options.CacheDir, "", progress)
		},
	}.run(ctx)
}

// distributionFolders are where Debian, the PostgreSQL RPMs, Alpine, Homebrew
// (both prefixes) and Postgres.app keep one folder a version.
func distributionFolders() []string {
	return []string{
		"/usr/lib/postgresql/*/bin",
		"/usr/pgsql-*/bin",
		"/usr/libexec/postgresql*",
		"/opt/homebrew/opt/postgresql*/bin",
		"/usr/local/opt/postgresql*/bin",
		"/Applications/Postgres.app/Contents/Versions/*/bin",
	}
}

// run takes the first usable folder; only when there is none, it fetches.
func (s search) run(ctx context.Context) (binaries, error) {
	var refused []error
	for _, folder := range s.folders() {
		found, err := inspect(ctx, folder, s.account)
		if err == nil {
			return found, nil
		}
		refused = append(refused, err)
	}
	if ctx.Err() != nil { // then the answers above say nothing, and nothing is fetched
		return binaries{}, ctx.Err()
	}
	folder, err := s.fetch(ctx)
	if err == nil {
		return inspect(ctx, folder, s.account)
	}
	if ctx.Err() != nil {
		return binaries{}, ctx.Err()
	}
	return binaries{}, s.missing(refused, err)
}

func (s search) missing(refused []error, fetchErr error) error {
	var text strings.Builder
	fmt.Fprintf(&text, " in PATH or %s", strings.Join(s.patterns, ", "))
	for _, err := range refused {
		fmt.Fprintf(&text, "; not usable: %v", err)
	}
	return fmt.Errorf("%w%s; fetching them did not work: %w; on Debian/Ubuntu: apt-get install postgresql, elsewhere install PostgreSQL %d or newer",
		ErrNoBinaries, text.String(), fetchErr, oldest)
}

// folders lists candidates: those of PATH in its order, then each
// distribution's, newest first. Links are resolved, because a link in
// /usr/local/bin says nothing about the folder that its siblings are in.
func (s search) folders() []string {
	var list []string
	seen := map[string]bool{}
	add := func(server string) {
		target, err := filepath.EvalSymlinks(server)
		if err != nil || seen[filepath.Dir(target)] {
			return
		}
		seen[filepath.Dir(target)] = true
		list = append(list, filepath.Dir(target))
	}
	for _, folder := range filepath.SplitList(s.path) {
		add(filepath.Join(folder, "postgres"))
	}
	for _, pattern := range s.patterns {
		matches, _ := filepath.Glob(filepath.Join(pattern, "postgres")) // the patterns are constants
		sort.SliceStable(matches, func(a, b int) bool { return folderVersion(matches[a]) > folderVersion(matches[b]) })
		for _, match := range matches {
			add(match)
		}
	}
	return list
}

// folderVersion is the last number in the folder's path, 0 without one.
func folderVersion(path string) float64 {
	numbers := folderNumber.FindAllString(filepath.Dir(path), -1)
	if len(numbers) == 0 {
		return 0
	}
	version, _ := strconv.ParseFloat(numbers[len(numbers)-1], 64) // the pattern matches only numbers
	return version
}

// inspect checks that a folder holds a complete server of a usable version.
func inspect(ctx context.Context, folder string, runAs *account) (binaries, error) {
	found := binaries{dir: folder}
	for _, name := range []string{"postgres", "initdb"} {
		if _, err := exec.LookPath(found.tool(name)); err != nil {
			return binaries{}, fmt.Errorf("%s has no %s", folder, name)
		}
	}
	if err := runAs.canReach(found.tool("postgres")); err != nil {
		return binaries{}, err
	}
	output, err := exec.CommandContext(ctx, found.tool("postgres"), "--version").Output()
	if err != nil {
		return binaries{}, fmt.Errorf("ask %s for its version: %w", found.tool("postgres"), err)
	}
	match := versionNumber.FindSubmatch(output)
	if match == nil {
		return binaries{}, fmt.Errorf("%s answers no version: %q", found.tool("postgres"), output)
	}
	found.major, err = strconv.Atoi(string(match[1]))
	if err != nil || found.major < oldest {
		return binaries{}, fmt.Errorf("%s is PostgreSQL %s, older than %d", folder, match[1], oldest)
	}
	return found, nil
}
