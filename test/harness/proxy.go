package harness

import (
	"net"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Proxy is the network between a worker and its database.
type Proxy struct {
	listener net.Listener
	target   string
	running  sync.WaitGroup

	// guards everything below
	mu      sync.Mutex
	cut     bool
	held    chan struct{} // closed when nothing is held back; open while the network is silent
	delay   time.Duration
	conns   map[net.Conn]struct{}
	stopped chan struct{}
}

// Between returns a network that leads to the same server as databaseURL, and the URL through it.
func Between(t testing.TB, databaseURL string) (p *Proxy, through string) {
	t.Helper()
	address, err := url.Parse(databaseURL)
	require.NoError(t, err)
	p = &Proxy{target: address.Host, conns: map[net.Conn]struct{}{}, stopped: make(chan struct{}), held: make(chan struct{})}
	close(p.held)
	p.listener, err = (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p.running.Go(p.accept)
	t.Cleanup(p.close)
	address.Host = p.listener.Addr().String()
	return p, address.String()
}

// Cut resets every connection and refuses new ones.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = true
	for conn := range p.conns {
		reset(conn)
	}
}

// Silence holds everything back in both directions; connections stay open, new ones are accepted and get no answer.
func (p *Proxy) Silence() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held = make(chan struct{})
}

// Delay lets every packet arrive late.
func (p *Proxy) Delay(by time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = by
}

// Heal makes the network good again; what was held back arrives now.
func (p *Proxy) Heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut, p.delay = false, 0
	select {
	case <-p.held:
	default:
		close(p.held)
	}
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.running.Go(func() { p.serve(client) })
	}
}

func (p *Proxy) serve(client net.Conn) {
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		reset(client)
		return
	}
	if !p.enter(client, server) {
		reset(client)
		reset(server)
		return
	}
	var directions sync.WaitGroup
	directions.Go(func() { p.pump(server, client) })
	directions.Go(func() { p.pump(client, server) })
	directions.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, client)
	delete(p.conns, server)
}

func (p *Proxy) enter(conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cut {
		return false
	}
	for _, conn := range conns {
		p.conns[conn] = struct{}{}
	}
	return true
}

func (p *Proxy) pump(to, from net.Conn) {
	defer func() { _ = to.Close() }()
	defer func() { _ = from.Close() }()
	buffer := make([]byte, 1<<16)
	for {
		n, err := from.Read(buffer)
		if !p.hold() {
			return
		}
		if n > 0 {
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// hold waits for as long as the network says; false when the proxy ends.
func (p *Proxy) hold() bool {
	p.mu.Lock()
	held, late := p.held, time.NewTimer(p.delay)
	p.mu.Unlock()
	defer late.Stop()
	select {
	case <-held:
	case <-p.stopped:
		return false
	}
	select {
	case <-late.C:
	case <-p.stopped:
		return false
	}
	return true
}

func (p *Proxy) close() {
	_ = p.listener.Close()
	p.mu.Lock()
	p.cut = true
	for conn := range p.conns {
		_ = conn.Close()
	}
	close(p.stopped)
	p.mu.Unlock()
	p.running.Wait()
}

func reset(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}
