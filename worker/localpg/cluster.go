package localpg

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	mathrand "math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// createCluster runs initdb, writes the settings and answers the superuser's
// new password. All logins are checked with a password, the socket's too.
func (s *Server) createCluster(ctx context.Context, options Options) (string, error) {
	password := rand.Text()
	passwordFile := filepath.Join(s.dir.path, "superuser")
	if err := os.WriteFile(passwordFile, []byte(password), 0o600); err != nil {
		return "", fmt.Errorf("write superuser password: %w", err)
	}
	defer func() { _ = os.Remove(passwordFile) }()
	if err := s.account.own(passwordFile); err != nil {
		return "", err
	}
	arguments := append([]string{
		"--pgdata=" + s.dir.data(), "--username=" + Superuser, "--pwfile=" + passwordFile,
		"--auth=" + options.authentication(), "--encoding=UTF8", "--no-sync", "--no-instructions",
	}, locale()...)
	command := exec.CommandContext(ctx, s.binaries.tool("initdb"), arguments...)
	s.configure(command)
	runtime.LockOSThread() // see startKept
	defer runtime.UnlockOSThread()
	if output, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("create cluster: initdb: %w: %s", err, strings.TrimSpace(string(output)))
	}
	return password, s.writeSettings(options)
}

// locale is the same everywhere as far as systems allow: bytewise order, and
// UTF-8 character classes so that full-text search and lower() know letters.
func locale() []string {
	if runtime.GOOS == "darwin" {
		return []string{"--locale=C", "--lc-ctype=UTF-8"}
	}
	return []string{"--locale=C.UTF-8"}
}

// writeSettings appends to postgresql.conf, where ALTER SYSTEM still wins.
func (s *Server) writeSettings(options Options) error {
	settings := defaultSettings(s.dir.socket(), options.Durable)
	maps.Copy(settings, options.Settings)
	var text strings.Builder
	text.WriteString("\n# kesita\n")
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		fmt.Fprintf(&text, "%s = '%s'\n", name, strings.ReplaceAll(settings[name], "'", "''"))
	}
	path := filepath.Join(s.dir.data(), "postgresql.conf")
	file, err := os.OpenFile(filepath.Clean(path), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("write settings: %w", err)
	}
	if _, err := file.WriteString(text.String()); err != nil {
		return fmt.Errorf("write settings: %w", err)
	}
	return file.Close()
}

// defaultSettings fit many small servers on one machine. synchronous_commit
// stays on even without fsync: a commit must survive an Immediate stop.
func defaultSettings(socketDir string, durable bool) map[string]string {
	settings := map[string]string{
		"listen_addresses":        "127.0.0.1",
		"unix_socket_directories": socketDir,
		"max_connections":         "200",
		"shared_buffers":          "32MB",
		"log_line_prefix":         "%m [%p] %q%u@%d ",
		"log_timezone":            "UTC",
		"timezone":                "UTC",
		"lc_messages":             "C",
	}
	if !durable {
		settings["fsync"] = "off"
		settings["full_page_writes"] = "off"
	}
	return settings
}

// freePort picks a port below the range that systems give to outgoing
// connections (Linux from 32768, macOS from 49152). From that range, a client
// that retries while the server is down can be given the server's own port as
// its source, connect to itself and keep the server from starting again.
func freePort() (int, error) {
	const first, last, attempts = 20000, 32000, 100
	var lastErr error
	for range attempts {
		port := first + mathrand.IntN(last-first)
		listener, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port})
		if err != nil {
			lastErr = err
			continue
		}
		return port, listener.Close()
	}
	return 0, fmt.Errorf("find a free port between %d and %d: %w", first, last, lastErr)
}
