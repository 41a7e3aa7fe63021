package settings

import (
	"errors"
	"log/slog"
	"reflect"
	"time"

	"github.com/caarlos0/env/v11"

	"github.com/kesita/platform/coordination/timing"
)

// Settings are the configuration of one worker process. Tags: env is the variable, envDefault its default, min and
// max its bounds, accepts what to write, services who uses it, about what it is for.
type Settings struct {
	DatabaseURL         Secret        `env:"DATABASE_URL" accepts:"postgres://LOGIN:PASSWORD@HOST:5432/DATABASE?sslmode=verify-full" services:"all" about:"the service's own database, with its worker login"`
	ControlDatabaseURL  Secret        `env:"CONTROL_DATABASE_URL" accepts:"postgres://LOGIN:PASSWORD@HOST:5432/DATABASE?sslmode=verify-full" services:"product" about:"the control ledger, read for admission checks only; without it every tenant is admitted"`
	HTTPAddress         string        `env:"HTTP_ADDRESS" envDefault:":8080" accepts:"host:port or :port" services:"all" about:"where /health/live, /health/startup and /health/ready listen; port 0 takes a free one"`
	QueueConcurrency    int           `env:"QUEUE_CONCURRENCY" envDefault:"4" min:"1" max:"1000" services:"all" about:"workflows of one queue that run at a time, on all replicas together and on each"`
	BusinessConnections int32         `env:"BUSINESS_CONNECTIONS" envDefault:"10" min:"2" max:"500" services:"all" about:"connections to the business tables, for each replica"`
	JournalConnections  int32         `env:"JOURNAL_CONNECTIONS" envDefault:"20" min:"5" max:"500" services:"all" about:"connections to the workflow journal, for each replica; at least 4 more than the service has queues"`
	ProviderURL         Secret        `env:"PROVIDER_URL" accepts:"http://HOST:PORT or https://HOST" services:"product" about:"the summary provider; required by product"`
	ProviderTimeout     time.Duration `env:"PROVIDER_TIMEOUT" envDefault:"30s" min:"100ms" max:"30m" services:"product" about:"the longest wait for one answer of the provider; less than a step's budget (30 min times TIMING)"`
	ProviderConcurrency int           `env:"PROVIDER_CONCURRENCY" envDefault:"4" min:"1" max:"1000" services:"product" about:"requests to the summary provider that one replica has open at a time, whatever QUEUE_CONCURRENCY is; the others wait, within their step's budget"`
	BlobURL             Secret        `env:"BLOB_URL" accepts:"an absolute path, a file:// URL or a bucket URL" services:"corpus" about:"what sources are confined to, and where relative ones are looked up; without it any file that the worker can read is one"`
	MaxDocumentBytes    int64         `env:"MAX_DOCUMENT_BYTES" envDefault:"67108864" min:"1024" max:"1073741824" services:"corpus" about:"the largest document that is indexed; a larger one is refused by name, the rest of its source goes on"`
	HTTPTimeout         time.Duration `env:"HTTP_TIMEOUT" envDefault:"60s" min:"100ms" max:"30m" services:"all" about:"the longest outbound request, answer included; less than a step's budget"`
	Timing              timing.Timing `env:"TIMING" envDefault:"production" accepts:"production, demo, or a factor from 0.05 to 20 such as 0.5" services:"all" about:"every duration of the coordination runtime: production has the 75 s lease, demo is a tenth of it"`
	LogLevel            slog.Level    `env:"LOG_LEVEL" envDefault:"info" accepts:"debug, info, warn or error" services:"all" about:"the least severe log line that is written"`
}

// Load reads and checks the environment (entries are NAME=value). DATABASE_URL is required, and so are the variables
// that the service needs besides. The error is a Faults with everything that is wrong; the fields at fault are then
// zero in the returned Settings, so that a caller can check the rest of its configuration and tell all at once.
func Load(environ []string, needs ...string) (Settings, error) {
	var s Settings
	given := env.ToMap(environ)
	variables := variablesOf(&s)
	faults := parse(&s, given, variables)
	faults = append(faults, missing(given, variables, append([]string{"DATABASE_URL"}, needs...))...)
	for _, v := range variables {
		if faults.about(v.Name) {
			continue
		}
		if problem := v.check(); problem != "" {
			faults = append(faults, Fault{Variable: v.Name, Problem: problem, Instead: v.instead()})
		}
	}
	faults = append(faults, s.relations(faults)...)
	faults = append(faults, misspelled(given, variables)...)
	if len(faults) == 0 {
		return s, nil
	}
	for _, v := range variables {
		if faults.about(v.Name) {
			v.field.SetZero()
		}
	}
	return s, faults.sorted(variables)
}

// parse fills s. An empty variable counts as unset, as in a container description that lists it without a value.
func parse(s *Settings, given map[string]string, variables []variable) Faults {
	present := map[string]string{}
	for name, value := range given {
		if value != "" {
			present[name] = value
		}
	}
	err := env.ParseWithOptions(s, env.Options{
		Environment: present,
		FuncMap:     map[reflect.Type]env.ParserFunc{reflect.TypeFor[timing.Timing](): parseTiming},
	})
	if err == nil {
		return nil
	}
	var faults Faults
	var all env.AggregateError
	errors.As(err, &all)
	for _, one := range all.Errors {
		var parsing env.ParseError
		if !errors.As(one, &parsing) {
			faults = append(faults, Fault{Variable: "environment", Problem: "cannot be read", Instead: "report this"})
			continue
		}
		for _, v := range variables {
			if v.fieldName == parsing.Name {
				faults = append(faults, Fault{Variable: v.Name, Problem: v.unreadable(parsing.Err), Instead: v.instead()})
			}
		}
	}
	return faults
}

func missing(given map[string]string, variables []variable, needs []string) Faults {
	var faults Faults
	for _, v := range variables {
		for _, need := range needs {
			if v.Name == need && given[v.Name] == "" {
				faults = append(faults, Fault{Variable: v.Name, Problem: "is not set", Instead: v.instead()})
			}
		}
	}
	return faults
}

// relations checks what one variable cannot know of another: outbound calls must end before the step that makes them
// does (P5).
func (s *Settings) relations(known Faults) Faults {
	var faults Faults
	if known.about("TIMING") {
		return nil
	}
	for name, limit := range map[string]time.Duration{"PROVIDER_TIMEOUT": s.ProviderTimeout, "HTTP_TIMEOUT": s.HTTPTimeout} {
		if !known.about(name) && limit >= s.Timing.StepExecute {
			faults = append(faults, Fault{
				Variable: name, Problem: "is not less than the budget of a step, " + s.Timing.StepExecute.String(),
				Instead: "a shorter duration, or a larger TIMING",
			})
		}
	}
	return faults
}
