package localpg

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"

	embeddedpostgres "github.com/fergusstrange/embedded-postgres"
)

// fetchedVersion is what the library downloads for a machine without PostgreSQL.
const fetchedVersion = embeddedpostgres.V17

// fetch downloads and unpacks binaries once a cache folder and answers the
// folder of the tools. repository replaces the library's own when not empty.
//
// The library has no call that only fetches: Start unpacks and then starts a
// server of its own, which is stopped again - and which cannot start at all for
// root. So what counts here is that the tools are there afterwards. It knows no
// context either; when ctx ends, the download is left behind unfinished.
func fetch(ctx context.Context, cacheDir, repository string, progress func(string)) (string, error) {
	cacheDir, err := cacheFolder(cacheDir)
	if err != nil {
		return "", err
	}
	unpacked := filepath.Join(cacheDir, string(fetchedVersion))
	tools := filepath.Join(unpacked, "bin")
	if complete(tools) {
		return tools, nil
	}
	progress("fetching PostgreSQL " + string(fetchedVersion) + " (once)")
	done := make(chan error, 1)
	go func() { done <- unpack(cacheDir, unpacked, repository) }()
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case err = <-done:
	}
	if !complete(tools) {
		return "", fmt.Errorf("fetch PostgreSQL %s: %w", fetchedVersion, err)
	}
	return tools, nil
}

func unpack(cacheDir, unpacked, repository string) error {
	scratch, err := os.MkdirTemp(cacheDir, "unpack-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	port, err := freePort()
	if err != nil {
		return err
	}
	var said bytes.Buffer
	config := embeddedpostgres.DefaultConfig().
		Version(fetchedVersion).
		Port(uint32(port)).
		CachePath(cacheDir).
		BinariesPath(unpacked).
		RuntimePath(scratch).
		Logger(&said)
	if repository != "" {
		config = config.BinaryRepositoryURL(repository)
	}
	server := embeddedpostgres.NewDatabase(config)
	if err := server.Start(); err != nil {
		return err
	}
	return server.Stop()
}

func complete(tools string) bool {
	for _, name := range []string{"postgres", "initdb"} {
		if _, err := os.Stat(filepath.Join(tools, name)); err != nil {
			return false
		}
	}
	return true
}

// cacheFolder makes the folder for fetched binaries. Root's own cache is no
// good: the account that runs the server may not enter root's home.
func cacheFolder(wanted string) (string, error) {
	switch {
	case wanted != "":
	case os.Geteuid() == 0:
		wanted = "/var/cache/kesita/postgresql"
	default:
		own, err := os.UserCacheDir()
		if err != nil {
			return "", err
		}
		wanted = filepath.Join(own, "kesita", "postgresql")
	}
	if err := os.MkdirAll(wanted, 0o755); err != nil {
		return "", fmt.Errorf("make cache folder: %w", err)
	}
	return wanted, nil
}
