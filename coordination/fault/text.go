package fault

import (
	"errors"
	"regexp"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const (
	withheld    = "(withheld)"
	longestText = 500
)

// encoding is the driver's complaint about an argument; it prints the argument.
var encoding = regexp.MustCompile(`(?s)(unable to encode|cannot convert|cannot find encode plan).*`)

// Text returns what err says, without data, in at most 500 bytes: for logs. A server's message is kept only for
// SQLSTATEs whose messages name objects and never values; details, arguments and connection strings are left out.
// It does not look into errors that are not the database's or the driver's: whoever logs those answers for them.
func Text(err error) string {
	if err == nil {
		return ""
	}
	text := err.Error()
	for _, secret := range secrets(err) {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, withheld)
		}
	}
	text = encoding.ReplaceAllString(text, "$1 "+withheld)
	if len(text) > longestText {
		text = strings.ToValidUTF8(text[:longestText], "") + "..."
	}
	return text
}

// secrets are the parts of the chain's texts that may hold data.
func secrets(err error) (list []string) {
	switch e := err.(type) { //nolint:errorlint // each link of the chain is looked at
	case *pgconn.PgError:
		if !namesOnly(e.Code) {
			list = append(list, e.Message)
		}
	case *pgconn.ParseConfigError:
		return []string{e.Error()}
	case pgx.ScanArgError:
		return []string{e.Err.Error()}
	case *strconv.NumError:
		return []string{strconv.Quote(e.Num)}
	}
	switch e := err.(type) { //nolint:errorlint // as above
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			list = append(list, secrets(inner)...)
		}
	default:
		if inner := errors.Unwrap(err); inner != nil {
			list = append(list, secrets(inner)...)
		}
	}
	return list
}

// namesOnly: messages of these classes name tables, columns, constraints and roles. Those of class 22 quote the value,
// those of class P0 are free text, and a class that nobody looked at is taken for the worst.
func namesOnly(code string) bool {
	if len(code) != 5 {
		return false
	}
	switch code[:2] {
	case "KF", "08", "0A", "23", "25", "26", "28", "3D", "3F", "40", "42", "53", "55", "57", "58":
		return true
	default:
		return false
	}
}
