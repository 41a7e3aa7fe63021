package lease_test

import (
	"net"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// proxy stands between a worker and its database. It can fall silent in either direction, without a reset, and it can
// drop everything.
type proxy struct {
	listener net.Listener
	target   string
	all      sync.WaitGroup

	mu                 sync.Mutex
	conns              []net.Conn
	requests, response chan struct{} // closed: bytes pass
	refusing           bool
}

func newProxy(t *testing.T, port int) *proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	open := make(chan struct{})
	close(open)
	p := &proxy{listener: listener, target: net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), requests: open, response: open}
	p.all.Go(p.accept)
	t.Cleanup(func() {
		_ = listener.Close()
		p.drop()
		p.speak()
		p.all.Wait()
	})
	return p
}

func (p *proxy) address() string { return p.listener.Addr().String() }

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.target)
		if err != nil || !p.keep(client, server) {
			_ = client.Close()
			if server != nil {
				_ = server.Close()
			}
			continue
		}
		p.all.Go(func() { p.copy(server, client, func() chan struct{} { return p.requests }) })
		p.all.Go(func() { p.copy(client, server, func() chan struct{} { return p.response }) })
	}
}

func (p *proxy) keep(conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.refusing {
		return false
	}
	p.conns = append(p.conns, conns...)
	return true
}

func (p *proxy) copy(to, from net.Conn, gate func() chan struct{}) {
	defer func() { _, _ = to.Close(), from.Close() }()
	buffer := make([]byte, 1<<14)
	for {
		n, err := from.Read(buffer)
		p.mu.Lock()
		open := gate()
		p.mu.Unlock()
		<-open
		if _, failed := to.Write(buffer[:n]); err != nil || failed != nil {
			return
		}
	}
}

// silence holds everything back; holdAnswers only what the server says.
func (p *proxy) silence()     { p.hold(true, true) }
func (p *proxy) holdAnswers() { p.hold(false, true) }

func (p *proxy) hold(requests, response bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if requests {
		p.requests = make(chan struct{})
	}
	if response {
		p.response = make(chan struct{})
	}
}

// speak lets everything through again, what was held back first.
func (p *proxy) speak() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, gate := range []*chan struct{}{&p.requests, &p.response} {
		select {
		case <-*gate:
		default:
			close(*gate)
		}
	}
}

// drop ends every connection; refuse also ends new ones until refuse(false).
func (p *proxy) drop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, conn := range p.conns {
		_ = conn.Close()
	}
	p.conns = nil
}

func (p *proxy) refuse(refusing bool) {
	p.mu.Lock()
	p.refusing = refusing
	p.mu.Unlock()
	if refusing {
		p.drop()
	}
}
