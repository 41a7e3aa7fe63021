package guard

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// ErrEndpoint marks a connection string that leads elsewhere than the registry. Match with errors.Is.
var ErrEndpoint = errors.New("endpoint differs from the registry's")

// ErrPlaintext marks a connection that would cross a network without a verified server (K13).
var ErrPlaintext = errors.New("connection needs sslmode=verify-full")

// SameEndpoint returns nil when both configurations lead to the same database by the same host names and ports, in
// the same order. Credentials may differ; aliases of one host are refused, because nobody can prove them (F5).
func SameEndpoint(registry, other *pgx.ConnConfig) error {
	if registry.Database != other.Database {
		return fmt.Errorf("%w: database %q, registry %q", ErrEndpoint, other.Database, registry.Database)
	}
	want, got := addresses(registry), addresses(other)
	if !slices.Equal(want, got) {
		return fmt.Errorf("%w: %s, registry %s", ErrEndpoint, strings.Join(got, ","), strings.Join(want, ","))
	}
	return nil
}

// CheckTransport returns ErrPlaintext when a host that is neither loopback nor a unix socket would be reached
// without verifying its certificate and its name (K13).
func CheckTransport(config *pgx.ConnConfig) error {
	check := func(host string, verified bool) error {
		if isLocal(host) || verified {
			return nil
		}
		return fmt.Errorf("%w: host %s", ErrPlaintext, host)
	}
	if err := check(config.Host, verifies(config.TLSConfig != nil, config.TLSConfig != nil && config.TLSConfig.InsecureSkipVerify)); err != nil {
		return err
	}
	for _, f := range config.Fallbacks {
		if err := check(f.Host, verifies(f.TLSConfig != nil, f.TLSConfig != nil && f.TLSConfig.InsecureSkipVerify)); err != nil {
			return err
		}
	}
	return nil
}

func verifies(encrypted, skips bool) bool { return encrypted && !skips }

func isLocal(host string) bool {
	if strings.HasPrefix(host, "/") || strings.HasPrefix(host, "@") || host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

func addresses(config *pgx.ConnConfig) []string {
	list := []string{address(config.Host, config.Port)}
	for _, f := range config.Fallbacks {
		if a := address(f.Host, f.Port); !slices.Contains(list, a) {
			list = append(list, a)
		}
	}
	return list
}

func address(host string, port uint16) string {
	network, a := pgconn.NetworkAddress(host, port)
	return network + ":" + a
}
