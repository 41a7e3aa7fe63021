package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"

	"github.com/kesita/platform/worker/settings"
)

// maxHeaderBytes bounds a request's head: the paths of health take no headers of their own.
const maxHeaderBytes = 16 << 10

// site is the HTTP server of the health paths. It listens before anything slow happens, so that probes get an answer.
type site struct {
	server  *http.Server
	address string
	// failed gets one error: nil after close.
	failed chan error
}

func listen(ctx context.Context, s settings.Settings, handler http.Handler) (*site, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.HTTPAddress)
	if err != nil {
		return nil, fmt.Errorf("listen at HTTP_ADDRESS: %w", err)
	}
	t := s.Timing
	w := &site{address: listener.Addr().String(), failed: make(chan error, 1), server: &http.Server{
		Handler: handler, MaxHeaderBytes: maxHeaderBytes,
		// A probe is one short request; whoever is slower than that holds a connection for nothing.
		ReadHeaderTimeout: t.Connect, ReadTimeout: t.Connect, WriteTimeout: t.Statement, IdleTimeout: t.Watchdog,
	}}
	go func() {
		err := w.server.Serve(listener)
		if errors.Is(err, http.ErrServerClosed) {
			err = nil
		}
		w.failed <- err
	}()
	return w, nil
}

func (w *site) close() { _ = w.server.Close() } // the process ends: nobody is left to tell

// outboundClient is the client that services get. Every service's call leaves through guarded, which asks for the lease
// before it sends (F7): what goes round it is found by the policy tests.
func outboundClient(s settings.Settings, guarded func(next http.RoundTripper) http.RoundTripper) *http.Client {
	t := s.Timing
	dial := &net.Dialer{Timeout: t.Connect, KeepAlive: t.SilentPeer}
	return &http.Client{
		// A last resort: the callers' deadlines are shorter.
		Timeout: max(s.HTTPTimeout, s.ProviderTimeout),
		Transport: guarded(&http.Transport{
			Proxy: http.ProxyFromEnvironment, DialContext: dial.DialContext, ForceAttemptHTTP2: true,
			TLSHandshakeTimeout: t.Connect, IdleConnTimeout: t.Lease,
			MaxIdleConns: s.QueueConcurrency, MaxIdleConnsPerHost: s.QueueConcurrency,
		}),
	}
}

// AskLive returns nil when the worker of this machine with these settings answers that it lives.
func askLive(ctx context.Context, s settings.Settings) error {
	host, port, err := net.SplitHostPort(s.HTTPAddress)
	if err != nil {
		return err
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	ctx, cancel := context.WithTimeout(ctx, s.Timing.Connect)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(host, port)+"/health/live", nil)
	if err != nil {
		return err
	}
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("status %s", response.Status)
	}
	return nil
}
