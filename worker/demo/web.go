package demo

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path"
	"time"

	"github.com/kesita/platform/worker/demo/texts"
)

// web is the slow web server that the documents come from.
type web struct {
	server *http.Server
	base   string
}

// startWeb serves the documents of a library, and nothing else, on a loopback port.
func startWeb(ctx context.Context, library texts.Library, p pace) (*web, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("serve documents: %w", err)
	}
	pages := make(map[string]texts.Document, len(library.Documents))
	for _, d := range library.Documents {
		pages["/"+d.Name] = d
	}
	w := &web{base: "http://" + listener.Addr().String(), server: &http.Server{
		ReadHeaderTimeout: p.Connect,
		Handler: http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
			page, known := pages[request.URL.Path]
			if !known {
				http.NotFound(response, request)
				return
			}
			pause(request.Context(), p.effort)
			serve(response, request, page)
		}),
	}}
	go func() { _ = w.server.Serve(listener) }() // ends with close
	return w, nil
}

func serve(response http.ResponseWriter, request *http.Request, page texts.Document) {
	info, err := os.Stat(page.Path)
	if err != nil || !info.Mode().IsRegular() { // before it is opened: a pipe would wait for a writer
		http.Error(response, "not a file", http.StatusForbidden)
		return
	}
	file, err := os.Open(page.Path)
	if err != nil {
		http.Error(response, "cannot be read", http.StatusForbidden)
		return
	}
	defer func() { _ = file.Close() }() // only read
	http.ServeContent(response, request, path.Base(page.Name), info.ModTime(), file)
}

// address is where a document is served.
func (w *web) address(d texts.Document) string {
	return w.base + (&url.URL{Path: "/" + d.Name}).EscapedPath()
}

func (w *web) close() { _ = w.server.Close() } // the demo ends: nobody is left to tell

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
