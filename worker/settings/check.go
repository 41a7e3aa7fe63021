package settings

import (
	"errors"
	"io/fs"
	"net"
	"net/url"
	"path"
	"strconv"

	"github.com/jackc/pgx/v5"

	"github.com/kesita/platform/coordination/guard"
	"github.com/kesita/platform/coordination/timing"
)

// Profiles of TIMING. A factor below the least leaves renewals less time than a busy machine's scheduler may take.
const (
	profileProduction = "production"
	profileDemo       = "demo"
	demoFactor        = 0.1
	leastFactor       = 0.05
	greatestFactor    = 20
)

var (
	errProfile = errors.New("unknown profile")
	errFactor  = errors.New("factor out of bounds")
)

func parseTiming(text string) (any, error) {
	production := timing.Production()
	switch text {
	case profileProduction:
		return production, nil
	case profileDemo:
		return production.Scale(demoFactor), nil
	}
	factor, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil, errProfile
	}
	if !(factor >= leastFactor && factor <= greatestFactor) { // also refuses NaN
		return nil, errFactor
	}
	return production.Scale(factor), nil
}

// checkURL says what is wrong with a secret URL, without any part of it but the host.
func checkURL(name string, secret Secret) string {
	if !secret.IsSet() {
		return ""
	}
	switch name {
	case "DATABASE_URL", "CONTROL_DATABASE_URL":
		return checkDatabase(secret.Reveal())
	}
	parsed, err := url.Parse(secret.Reveal())
	switch {
	case err != nil:
		return "is not a URL; in a password, percent-encode every character but letters and digits"
	case name == "PROVIDER_URL" && (parsed.Scheme != "http" && parsed.Scheme != "https" || parsed.Host == ""):
		return "is not an http or https URL with a host"
	case name == "PROVIDER_URL" && (parsed.RawQuery != "" || parsed.Fragment != ""):
		return "has a query or a fragment"
	case parsed.Scheme == "" && !path.IsAbs(parsed.Path):
		return "is neither an absolute path nor a URL"
	}
	return ""
}

// CheckDatabase returns nil for a connection string that a worker would accept, else a Fault's worth of words without
// any part of it. It matches boot.ErrConfiguration.
func CheckDatabase(connection string) error {
	if problem := checkDatabase(connection); problem != "" {
		return Faults{{Variable: "the database URL", Problem: problem}}
	}
	return nil
}

func checkDatabase(connection string) string {
	config, err := pgx.ParseConfig(connection)
	var file *fs.PathError
	switch {
	case errors.As(err, &file):
		return "names a file that cannot be read (sslrootcert, sslcert, sslkey, passfile or servicefile)"
	case err != nil:
		return "is not a PostgreSQL connection string; in a password, percent-encode every character but letters and digits"
	case config.Database == "":
		return "names no database"
	case guard.CheckTransport(config) != nil:
		return "would cross a network without verifying the server's certificate; use sslmode=verify-full"
	}
	return ""
}

func checkAddress(address string) string {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return "is not an address to listen on"
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n > 65535 {
		return "has no port from 0 to 65535"
	}
	return ""
}
