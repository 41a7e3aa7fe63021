package coordination

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/kesita/platform/coordination/boot"
	"github.com/kesita/platform/coordination/guard"
	"github.com/kesita/platform/coordination/timing"
)

// Timing holds every duration of the runtime; see package timing.
type Timing = timing.Timing

// ProductionTiming is the profile with the 75 s lease (D, K4).
func ProductionTiming() Timing { return timing.Production() }

// Config describes one worker.
type Config struct {
	// Application is the service, for example "kesita-product": lower case, digits, '-' and '_', 3 to 256 characters.
	Application string
	// Version is the compatibility version, for example "kesita-product-v1": work moves only between workers of the
	// same one (C5).
	Version string
	// BuildVersion and BuildRevision name the binary. They are recorded, never compared.
	BuildVersion, BuildRevision string
	// DatabaseURL leads to the service's own database, with a worker login.
	DatabaseURL string
	// Timing defaults to ProductionTiming.
	Timing Timing
	// Logger gets one line an event; nil discards.
	Logger *slog.Logger
	// JournalConnections is the size of the SDK's pool. Default 20; at least queues + 4.
	JournalConnections int32
	// Environ is the process environment, searched for SDK overrides. Default os.Environ().
	Environ []string
	// Exit ends the process when nothing else can. Default os.Exit.
	Exit func(code int)
}

const (
	defaultJournalConnections = 20
	controlConnections        = 6
)

var applicationName = regexp.MustCompile(`^[a-z0-9_-]{3,256}$`)

// ErrSDKOverride says that the environment would change the SDK's identity, version or control plane (C5).
var ErrSDKOverride = fmt.Errorf("%w: SDK override in the environment", boot.ErrConfiguration)

// Validate returns every fault of the configuration, joined; nil when there is none. It prints no connection string.
func (c Config) Validate() error {
	var faults []error
	if !applicationName.MatchString(c.Application) {
		faults = append(faults, fmt.Errorf("%w: application name %q must match %s", boot.ErrConfiguration, c.Application, applicationName))
	}
	if !applicationName.MatchString(c.Version) {
		faults = append(faults, fmt.Errorf("%w: compatibility version %q must match %s", boot.ErrConfiguration, c.Version, applicationName))
	}
	if err := c.Timing.Validate(); err != nil {
		faults = append(faults, err)
	}
	if connection, err := pgx.ParseConfig(c.DatabaseURL); err != nil {
		faults = append(faults, fmt.Errorf("%w: database url: %w", boot.ErrConfiguration, err))
	} else if err := guard.CheckTransport(connection); err != nil {
		faults = append(faults, err)
	}
	return errors.Join(append(faults, refuseOverrides(c.Environ)...)...)
}

func (c Config) withDefaults() Config {
	if c.Timing == (Timing{}) {
		c.Timing = ProductionTiming()
	}
	if c.JournalConnections == 0 {
		c.JournalConnections = defaultJournalConnections
	}
	if c.Environ == nil {
		c.Environ = os.Environ()
	}
	if c.Exit == nil {
		c.Exit = os.Exit
	}
	return c
}

// refuseOverrides: the SDK lets its environment win over its configuration. An executor ID or a version from there
// would break identity and isolation; a Conductor key would bring a second recovery authority.
func refuseOverrides(environ []string) []error {
	var faults []error
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		if value == "" {
			continue
		}
		if strings.HasPrefix(name, "DBOS__") || name == "DBOS_CONDUCTOR_KEY" || name == "DBOS_CONDUCTOR_URL" || name == "DBOS_DOMAIN" {
			faults = append(faults, fmt.Errorf("%w: unset %s", ErrSDKOverride, name))
		}
	}
	return faults
}
