package proxy

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/apbridge/apbridge/config"
	"go.uber.org/zap"
)

// tlsListener accepts connections that have completed the handshake. It passes on HTTP/2 connections unchanged, because
// net/http checks their type. The heads of HTTP/1.1 connections are inspected, as without TLS.
type tlsListener struct {
	net.Listener
	config      *tls.Config
	patience    time.Duration // for a handshake
	connections *connLimit
	ready       chan accepted
	done        chan struct{}
	close       func() error
}

type accepted struct {
	conn net.Conn
	err  error
}

func newTLSListener(l net.Listener, c *tls.Config, patience time.Duration, connections *connLimit) *tlsListener {
	t := &tlsListener{
		Listener: l, config: c, patience: patience, connections: connections,
		ready: make(chan accepted), done: make(chan struct{}),
	}
	t.close = sync.OnceValue(func() error {
		close(t.done)
		return t.Listener.Close()
	})
	go t.acceptAll()
	return t
}

// Accept waits for the next connection that has completed the handshake.
func (l *tlsListener) Accept() (net.Conn, error) {
	select {
	case a := <-l.ready:
		return a.conn, a.err
	case <-l.done:
		return nil, net.ErrClosed
	}
}

// Close also ends handshakes in progress.
func (l *tlsListener) Close() error { return l.close() }

func (l *tlsListener) acceptAll() {
	for {
		c, err := l.Listener.Accept()
		if err == nil {
			go l.shake(c)
			continue
		}
		if !l.hand(accepted{err: err}) || errors.Is(err, net.ErrClosed) {
			return
		}
	}
}

// hand reports whether the connection was accepted.
func (l *tlsListener) hand(a accepted) bool {
	select {
	case l.ready <- a:
		return true
	case <-l.done:
		return false
	}
}

// shake counts the connection as open until net/http counts it.
func (l *tlsListener) shake(raw net.Conn) {
	l.connections.open.Add(1)
	defer l.connections.open.Add(-1)
	ctx, stop := context.WithTimeout(context.Background(), l.patience)
	defer stop()
	c := tls.Server(raw, l.config)
	if err := c.HandshakeContext(ctx); err != nil {
		tellPlain(err)
		_ = raw.Close()
		return
	}
	if !l.hand(accepted{conn: framedTLS(c)}) {
		_ = c.Close()
	}
}

const plainAnswer = "HTTP/1.0 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n" +
	"This bridge uses TLS: write https:// instead of http://.\n"

// tellPlain responds to a client that does not use TLS.
func tellPlain(err error) {
	if head := (tls.RecordHeaderError{}); errors.As(err, &head) && head.Conn != nil {
		_ = head.Conn.SetWriteDeadline(time.Now().Add(time.Second))
		_, _ = io.WriteString(head.Conn, plainAnswer)
	}
}

// certificate holds the contents of the files of tls. They are read again when they change, so that a renewed
// certificate needs no restart. Safe for concurrent use.
type certificate struct {
	files config.TLS
	log   *zap.Logger

	mu     sync.Mutex
	shown  *tls.Config
	held   sums // of the files from which shown was created
	looked time.Time
}

// sums are those of the three files, or zero for a file that cannot be read. Modification times are not sufficient,
// because the target of a link may be replaced by a file with the same time.
type sums [3][sha256.Size]byte

// certificateQuiet is the interval between checks of the files.
const certificateQuiet = 10 * time.Second

func newCertificate(files config.TLS, log *zap.Logger) (*certificate, error) {
	c := &certificate{files: files, log: log}
	return c, c.read()
}

func (c *certificate) config() *tls.Config {
	return &tls.Config{GetConfigForClient: c.get}
}

func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Config, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); now.Sub(c.looked) >= certificateQuiet {
		c.looked = now
		c.renew()
	}
	return c.shown, nil
}

// renew keeps the old pair while a new one cannot be read, because one file may be written before the other.
func (c *certificate) renew() {
	if c.sums() == c.held {
		return
	}
	if err := c.read(); err != nil {
		c.log.Warn("new certificate cannot be used; keeping the previous one", zap.Error(err))
		return
	}
	c.log.Info("certificate reloaded", zap.String("file", c.files.Cert))
}

func (c *certificate) read() error {
	held := c.sums() // before they are read for use, so that a later change is noticed next time
	pair, err := config.KeyPair(c.files.Cert, c.files.Key)
	if err != nil {
		return fmt.Errorf("tls: the certificate cannot be used: %w. tls.cert and tls.key must name PEM files, and the key must belong to the certificate", err)
	}
	shown := &tls.Config{Certificates: []tls.Certificate{pair}, NextProtos: []string{"h2", "http/1.1"}}
	if err := askClients(shown, c.files.ClientCA); err != nil {
		return err
	}
	c.shown, c.held = shown, held
	return nil
}

// askClients requires certificates of clients, issued by the authorities in a file. It does nothing if file is "". In
// that case sessions are not resumed, because a ticket would outlive the authority on which it depends.
func askClients(c *tls.Config, file string) (err error) {
	if file == "" {
		return nil
	}
	if c.ClientCAs, err = config.Authorities(file); err != nil {
		return fmt.Errorf("tls.client_ca: %s cannot be used: %w", file, err)
	}
	c.ClientAuth, c.SessionTicketsDisabled = tls.RequireAndVerifyClientCert, true
	return nil
}

func (c *certificate) sums() (held sums) {
	for i, name := range []string{c.files.Cert, c.files.Key, c.files.ClientCA} {
		if raw, err := config.ReadFile(name); err == nil {
			held[i] = sha256.Sum256(raw)
		}
	}
	return held
}
