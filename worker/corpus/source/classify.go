package source

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strings"
	"syscall"

	"gocloud.dev/gcerrors"

	"github.com/kesita/platform/coordination/fault"
	"github.com/kesita/platform/worker/corpus/refusal"
)

// classify is the one place that decides why a document could not be read and whether that can heal. Fine errors
// of the file system, of a bucket and of a web server end here; what nobody knows counts as a disturbance, because
// the number of tries is limited and a wrong "never" loses a document.
//
// Left as they are: refusals, the end of ctx, and everything about the lease: neither the bucket nor the server was asked.
func classify(ctx context.Context, uri string, err error) error {
	if _, known := refusal.Of(err); known || errors.Is(err, errUnconfirmed) || fault.Of(err) == fault.Fenced {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	code, detail := meaning(err)
	// %s and not %w: see the package's contract.
	return fmt.Errorf("%w: %s: %s", code, uri, detail)
}

// errUnconfirmed: the lease was not confirmed, so nothing was sent.
var errUnconfirmed = errors.New("lease not confirmed")

func meaning(err error) (code refusal.Code, detail string) {
	var name *net.DNSError
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return refusal.Missing, "no such file or folder"
	case errors.Is(err, fs.ErrPermission):
		return refusal.Unreadable, "permission denied"
	case errors.Is(err, syscall.EISDIR), errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ELOOP),
		errors.Is(err, syscall.ENAMETOOLONG), errors.Is(err, syscall.ENXIO), errors.Is(err, fs.ErrInvalid):
		return refusal.Unreadable, "not a readable file"
	case leavesRoot(err):
		return refusal.Forbidden, "it is a link out of the configured base"
	case errors.As(err, &certificate):
		return refusal.Unreadable, "the server's certificate is not trusted"
	case errors.As(err, &name) && name.IsNotFound:
		return refusal.Missing, "no such host"
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		return refusal.Unavailable, "timed out"
	}
	switch gcerrors.Code(err) {
	case gcerrors.NotFound:
		return refusal.Missing, "no such object or bucket"
	case gcerrors.PermissionDenied:
		return refusal.Unreadable, "permission denied"
	case gcerrors.InvalidArgument, gcerrors.Unimplemented, gcerrors.FailedPrecondition:
		return refusal.Unreadable, "the bucket refuses the request"
	default:
		return refusal.Unavailable, cause(err)
	}
}

// leavesRoot recognises os.Root's refusal, which has no exported value.
func leavesRoot(err error) bool {
	var at *fs.PathError
	return errors.As(err, &at) && strings.Contains(at.Err.Error(), "escapes")
}

// cause is the innermost text of a chain: without URLs, which may hold a token in their query.
func cause(err error) string {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err.Error()
		}
		err = inner
	}
}
