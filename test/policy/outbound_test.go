package policy_test

import (
	"fmt"
	"go/ast"
	"path"
	"slices"
	"strings"
)

// workflowCode is where workflows live, and everything that only they call.
func workflowCode() []string { return []string{"worker/corpus", "worker/product"} }

// libraries says what workflow code may import from others, and why that cannot call out by itself.
func libraries() map[string]string {
	return map[string]string{
		"github.com/cenkalti/backoff/v5": "waits",
		"github.com/google/uuid":         "computes",
		"github.com/jackc/pgx/v5":        "databases: writes are fenced there, the control ledger is only read (F9)",
		"github.com/yuin/goldmark":       "parses what it is given",
		"gocloud.dev/blob":               "buckets: see the rule about them",
		"gocloud.dev/blob/memblob":       "a bucket in memory",
		"gocloud.dev/blob/azureblob":     "buckets of Azure, opened behind the rule about buckets",
		"gocloud.dev/gcerrors":           "names errors",
		"golang.org/x/net/html":          "parses what it is given",
		"golang.org/x/text":              "converts what it is given",
	}
}

// bucketFile is the one file that may touch a bucket; gate is its type that asks first.
const (
	bucketFile = "worker/corpus/source/bucket.go"
	gate       = "confirmed"
)

// outboundRules are about the ways out of a worker: a request that leaves on another one is sent without a lease (F7).
func outboundRules() []rule {
	code := func(imports, body string) map[string]string {
		return one("worker/corpus/a.go", "package corpus\n\nimport "+imports+"\n\n"+body+"\n")
	}
	bucket := func(body string) map[string]string {
		return one(bucketFile, "package source\n\nimport \"gocloud.dev/blob\"\n\ntype confirmed struct { bucket *blob.Bucket }\n\n"+body+"\n")
	}
	return []rule{
		{
			name:  "WorkflowCodeOpensNoConnection",
			why:   "the client that a worker hands out confirms the lease before each request; nothing else does",
			check: ownConnections,
			bad: []map[string]string{
				code(`"net/http"`, "var c = &http.Client{}"), code(`"net/http"`, "var c = new(http.Client)"),
				code(`"net/http"`, "type t struct { http.Client }"), code(`web "net/http"`, "func f(t *web.Transport) {}"),
				code(`"net"`, `func f() { net.Dial("tcp", "x") }`), code(`"net"`, "var d net.Dialer"), code(`"net"`, `func f() { net.LookupHost("x") }`),
				code(`"crypto/tls"`, `func f() { tls.Dial("tcp", "x", nil) }`), code(`"syscall"`, "func f() { syscall.Socket(1, 2, 3) }"),
				code(`"os/exec"`, ""), code(`"net/smtp"`, ""), code(`_ "net/rpc/jsonrpc"`, ""),
			},
			good: []map[string]string{
				code(`"net/http"`, "type t struct { c *http.Client }\nfunc f(c *http.Client) { own := *c; own.CheckRedirect = nil }"),
				code(`"net/http"`, "func f() { http.NewRequest(http.MethodGet, \"x\", nil) }"),
				code(`"net"`, "func f() { net.ParseIP(\"x\") }"), code(`"crypto/tls"`, "var e *tls.CertificateVerificationError"),
				one("worker/app/web.go", "package app\n\nimport \"net/http\"\n\nvar c = &http.Client{}\n"),
				one("worker/corpus/a_test.go", "package corpus\n\nimport \"net/http\"\n\nvar c = &http.Client{}\n"),
			},
		},
		{
			name:  "WorkflowCodeImportsNothingThatCallsOut",
			why:   "a library may bring a client of its own: it gets a row in this test with the reason why it does not",
			check: foreignImports,
			bad:   []map[string]string{code(`"github.com/Azure/azure-sdk-for-go/sdk/azcore"`, ""), code(`"gocloud.dev/blob/s3blob"`, ""), code(`"golang.org/x/net/websocket"`, "")},
			good:  []map[string]string{code(`"github.com/jackc/pgx/v5/pgconn"`, ""), code(`"golang.org/x/net/html/atom"`, ""), code(`"`+module+`/coordination/fault"`, ""), code(`"strings"`, "")},
		},
		{
			name:  "ABucketIsTouchedBehindTheGateOnly",
			why:   "each call to a bucket confirms the lease first (F7)",
			check: buckets,
			bad: []map[string]string{
				code(`"gocloud.dev/blob"`, "func f(b *blob.Bucket) {}"), code(`"gocloud.dev/blob"`, "func f(m *blob.URLMux) { m.OpenBucketURL(nil, nil) }"),
				code(`"gocloud.dev/blob"`, `func f() { blob.OpenBucket(nil, "x") }`),
				bucket("func (c confirmed) read() { c.bucket.NewReader(nil, \"k\", nil) }"),
				bucket("func read(c confirmed) { confirm(); c.bucket.NewReader(nil, \"k\", nil) }"),
			},
			good: []map[string]string{
				code(`"gocloud.dev/blob"`, "func f(m *blob.URLMux) {}"),
				bucket("func (c confirmed) read() { confirm(); c.bucket.NewReader(nil, \"k\", nil) }\nfunc (c confirmed) close() { c.bucket.Close() }"),
			},
		},
	}
}

func ofWorkflows(f *file) bool { return production(f) && f.in(workflowCode()...) }

func ownConnections(t *tree) []finding {
	forbidden := map[string]func(name string) bool{
		"net": func(name string) bool {
			return strings.HasPrefix(name, "Dial") || strings.HasPrefix(name, "Lookup") || strings.HasSuffix(name, "Resolver") || name == "FileConn"
		},
		"net/http":   func(name string) bool { return strings.HasSuffix(name, "Transport") },
		"crypto/tls": func(name string) bool { return strings.HasPrefix(name, "Dial") || name == "Client" },
		"syscall": func(name string) bool {
			return slices.Contains([]string{"Socket", "Connect", "Exec", "ForkExec", "StartProcess", "Syscall", "RawSyscall"}, name)
		},
	}
	var found []finding
	for _, f := range t.goFiles(ofWorkflows) {
		handedOn := map[ast.Node]bool{} // the X of *X
		ast.Inspect(f.syntax, func(node ast.Node) bool {
			if star, ok := node.(*ast.StarExpr); ok {
				handedOn[star.X] = true
			}
			if spec, ok := node.(*ast.ImportSpec); ok && slices.Contains([]string{"os/exec", "net/smtp", "net/rpc", "net/rpc/jsonrpc", "plugin"}, importOf(spec)) {
				found = append(found, finding{f.path, f.line(node), "imports " + importOf(spec)})
			}
			if f.selected(node, "net/http") == "Client" && !handedOn[node] {
				found = append(found, finding{f.path, f.line(node), "an http.Client of its own"})
			}
			for from, is := range forbidden {
				if name := f.selected(node, from); name != "" && is(name) {
					found = append(found, finding{f.path, f.line(node), path.Base(from) + "." + name})
				}
			}
			return true
		})
	}
	return found
}

func foreignImports(t *tree) []finding {
	return t.each(ofWorkflows, func(_ *file, node ast.Node) string {
		spec, ok := node.(*ast.ImportSpec)
		if !ok {
			return ""
		}
		imports := importOf(spec)
		if host, _, _ := strings.Cut(imports, "/"); !strings.Contains(host, ".") || within(imports, module) {
			return ""
		}
		for library := range libraries() {
			exact := library == "gocloud.dev/blob" // its subfolders are drivers
			if imports == library || !exact && within(imports, library) {
				return ""
			}
		}
		return "imports " + imports
	})
}

func buckets(t *tree) []finding {
	const library = "gocloud.dev/blob"
	found := t.each(func(f *file) bool { return ofWorkflows(f) && f.path != bucketFile }, func(f *file, node ast.Node) string {
		if name := f.selected(node, library); strings.Contains(name, "Bucket") && name != "BucketURLOpener" {
			return "blob." + name
		}
		if call, ok := node.(*ast.CallExpr); ok && f.imported(library) != "" {
			if selector, ok := call.Fun.(*ast.SelectorExpr); ok && strings.HasPrefix(selector.Sel.Name, "OpenBucket") {
				return selector.Sel.Name
			}
		}
		return ""
	})
	return append(found, t.each(func(f *file) bool { return f.path == bucketFile }, func(f *file, node ast.Node) string {
		function, ok := node.(*ast.FuncDecl)
		if !ok || function.Body == nil {
			return ""
		}
		asks := strings.Contains(f.source(function.Body), "confirm(")
		gated := function.Recv != nil && f.source(function.Recv.List[0].Type) == gate
		for _, method := range usesOf(f, function.Body, "bucket") {
			if ast.IsExported(method) && method != "Close" && (!asks || !gated) {
				return fmt.Sprintf("%s calls %s without asking", function.Name.Name, method)
			}
		}
		return ""
	})...)
}

// usesOf lists the methods called on a field of that name.
func usesOf(f *file, body ast.Node, field string) (methods []string) {
	ast.Inspect(body, func(node ast.Node) bool {
		call, ok := node.(*ast.CallExpr)
		if !ok {
			return true
		}
		if method, ok := call.Fun.(*ast.SelectorExpr); ok && strings.HasSuffix(f.source(method.X), "."+field) {
			methods = append(methods, method.Sel.Name)
		}
		return true
	})
	return methods
}
