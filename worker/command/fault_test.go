package command_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/coordination/boot"
	"github.com/kesita/platform/worker/localpg/localpgtest"
)

// Every fault is one line that says what and why, and a hint where one is known; the status says what kind it is.
func TestFaultsAreOneLineAndAStatus(t *testing.T) {
	t.Parallel()
	p, corpus, bare := migrated(t, "product"), migrated(t, "corpus"), empty(t)
	server := localpgtest.Shared(t)
	submit := []string{"task", "submit", "--tenant", "a", "-"}
	for name, c := range map[string]struct {
		environ []string
		stdin   string
		args    []string
		code    int
		says    string
		hint    string
	}{
		"CorpusJobUnknown":  {environ: corpus.as("reader"), args: []string{"corpus", "status", "x"}, code: boot.ExitUsage, says: "job is unknown: x"},
		"CorpusOfProduct":   {environ: p.as("api"), args: []string{"corpus", "search", "wind"}, code: boot.ExitSchema, says: "search corpus: ", hint: "run the migration"},
		"CorpusSearchEmpty": {environ: corpus.as("reader"), args: []string{"corpus", "search", "the"}, code: boot.ExitUsage, says: "no word in the query can be searched for"},
		"CorpusSourceWithPassword": {
			environ: corpus.as("api"), args: []string{"corpus", "add", "http://u:" + password + "@h/x"}, code: boot.ExitUsage, says: "credentials in the URL of a source",
		},
		"DatabaseMissing": {
			environ: []string{"DATABASE_URL=" + server.URL(p.name+"_api", password, "nowhere")}, stdin: text, args: submit,
			code: boot.ExitConfiguration, says: "submit task: failed to connect", hint: "create the database",
		},
		"DatabaseUnreachable": {
			environ: []string{"DATABASE_URL=postgres://u:" + password + "@127.0.0.1:1/x"}, args: []string{"executors"},
			code: boot.ExitUnavailable, says: "list executors: failed to connect", hint: "is the database server running",
		},
		"DocumentEmpty":   {environ: p.as("api"), args: submit, code: boot.ExitUsage, says: "submit task: document is empty"},
		"DocumentMissing": {environ: p.as("api"), args: []string{"task", "submit", "--tenant", "a", "/nowhere/x"}, code: boot.ExitUsage, says: "no such file"},
		"DocumentNoText":  {environ: p.as("api"), stdin: "\x00\xff", args: submit, code: boot.ExitUsage, says: "document is not UTF-8 text"},
		"DocumentTooLarge": {
			environ: p.as("api"), stdin: strings.Repeat("x", 4<<20+1), args: submit, code: boot.ExitUsage, says: "document is larger than 4194304 bytes",
		},
		"LoginMayNotWrite": {environ: p.as("reader"), stdin: text, args: submit, code: boot.ExitPermission, says: "permission denied", hint: "lacks a privilege"},
		"MigrationByAReader": {
			environ: p.as("reader"), args: []string{"migrate", "--service", "product"}, code: boot.ExitPermission, says: "migrate product: ", hint: "lacks a privilege",
		},
		"MigrationMissing":   {environ: bare.as("reader"), args: []string{"executors"}, code: boot.ExitSchema, says: "does not exist", hint: "run the migration"},
		"NoDatabaseNamed":    {args: []string{"executors"}, code: boot.ExitConfiguration, says: "set PRODUCT_DATABASE_URL or DATABASE_URL"},
		"NoIdentifier":       {environ: p.as("api"), args: []string{"task", "status", "--tenant", "a", "12"}, code: boot.ExitUsage, says: "invalid UUID", hint: "kesita --help"},
		"ServiceUnknown":     {environ: p.as("api"), args: []string{"migrate", "--service", "x\x1b[2J"}, code: boot.ExitUsage, says: `no service "x [2J"`},
		"TenantUnknown":      {environ: p.as("api"), args: []string{"task", "status", "--tenant", "b", "00000000-0000-0000-0000-000000000001"}, code: boot.ExitUsage, says: "tenant is unknown"},
		"UnknownCommand":     {args: []string{"frobnicate"}, code: boot.ExitUsage, says: "frobnicate", hint: "kesita --help"},
		"UnknownOutput":      {args: []string{"version", "-o", "xml"}, code: boot.ExitUsage, says: `"text","json"`, hint: "kesita --help"},
		"URLCannotBeParsed":  {environ: []string{"DATABASE_URL=postgres://u:" + password + "@h:port/x"}, args: []string{"executors"}, code: boot.ExitConfiguration, says: "the database URL is not a PostgreSQL connection string"},
		"URLCrossesANetwork": {args: []string{"executors", "--database-url", "postgres://u:" + password + "@db.example/x"}, code: boot.ExitConfiguration, says: "sslmode=verify-full"},
		"WrongPassword": {
			environ: []string{"DATABASE_URL=" + server.URL(p.name+"_api", password+"x", p.name)}, stdin: text, args: submit,
			code: boot.ExitPermission, says: "password authentication failed", hint: "check login and password",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := call(t, c.environ, c.stdin, c.args...)
			require.Equal(t, c.code, a.code, a.stderr)
			require.Empty(t, a.stdout)
			line, hint, _ := strings.Cut(a.stderr, "\n")
			require.True(t, strings.HasPrefix(line, "kesita: "), line)
			require.Contains(t, line, c.says)
			if c.hint == "" {
				require.Empty(t, hint)
				return
			}
			require.True(t, strings.HasPrefix(hint, "  hint: "), hint)
			require.Contains(t, hint, c.hint)
			require.Equal(t, 1, strings.Count(hint, "\n"))
		})
	}
}

func TestEveryCommandExplainsItself(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "migrate", "corpus", "corpus add", "corpus status", "corpus search", "task", "task submit", "task status", "executors", "executors list", "executors revoke", "doctor", "explain", "quarantine list", "quarantine show", "quarantine retry", "quarantine grant", "quarantine unpark", "demo", "version"} {
		require.Contains(t, ok(t, nil, "", append(strings.Fields(name), "--help")...), "Usage: kesita "+name)
	}
}
