package upstream

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"
)

// Cause returns why an exchange got no response, as text to follow "cannot be reached: ", with advice if there is any.
// It contains neither the URL nor secrets. It returns "" for an unknown cause.
func (f *Failure) Cause() string { return CauseOf(f.Err) }

// CauseOf is Failure.Cause for an error of net/http.
func CauseOf(err error) string {
	if err == nil {
		return ""
	}
	for _, c := range causes {
		if c.is(err) {
			return c.says
		}
	}
	return ""
}

// causes are tried in this order: errors of a proxy or TLS come before the network's error for the same failure.
var causes = []struct {
	is   func(error) bool
	says string
}{
	{byProxy, "the proxy that HTTP_PROXY or HTTPS_PROXY names does not let the bridge through; see that it runs, or add the host to NO_PROXY"},
	{noTLS, "its server speaks no TLS; write http:// instead of https://"},
	{speaksTLS, "its server speaks TLS; write https:// instead of http://"},
	{saying("malformed HTTP"), "a program listens there that does not speak HTTP; look for the agent's own port"},
	{anError[x509.HostnameError], "its certificate is for another host name; call it by the name in its certificate, or set server_name of the agent's tls"},
	{expired, "its certificate has expired, or is not valid yet; see the clocks of both machines"},
	{untrusted, "its certificate is signed by an authority that this machine does not trust; add the authority to the system's (or name its file as ca of the agent's tls)"},
	{saying("tls: "), "the TLS handshake with its server failed; see which versions and certificates it asks for"},
	{unknownHost, "its host name is not known on this machine; see how it is spelt, and the name servers"},
	{anError[*net.DNSError], "the name servers of this machine do not answer"},
	{is(syscall.ECONNREFUSED), "no program listens there (connection refused); see that it runs, on that port, and on an address that this machine can see"},
	{is(syscall.EHOSTUNREACH, syscall.ENETUNREACH), "no way in the network leads to its host"},
	{dialTimedOut, "no connection was made in time; check that its host is up and that no firewall drops the traffic"},
	{timedOut, "no answer came in time; see what it is busy with, and that this is its own port"},
	{is(net.ErrClosed), "what listens there answered before it had read the call, or closed the connection; see whether it speaks HTTP, or wants https://"},
	{is(io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.EPIPE), "its server closed the connection before it had answered; see that this is the agent's own port, and whether it wants https://"},
}

func is(targets ...error) func(error) bool {
	return func(err error) bool {
		for _, t := range targets {
			if errors.Is(err, t) {
				return true
			}
		}
		return false
	}
}

func anError[E error](err error) bool {
	var found E
	return errors.As(err, &found)
}

// saying matches errors by their text because net/http has no type for them.
func saying(part string) func(error) bool {
	return func(err error) bool { return strings.Contains(err.Error(), part) }
}

// noTLS also matches net/http's text for HTTP responses, which it uses unless the connection is one of ours.
func noTLS(err error) bool {
	return anError[tls.RecordHeaderError](err) || strings.Contains(err.Error(), "server gave HTTP response to HTTPS client")
}

// speaksTLS matches the alert record (RFC 8446 section 5.1) with which a TLS server responds to plain HTTP.
func speaksTLS(err error) bool {
	return strings.Contains(err.Error(), `malformed HTTP response "\x15\x03`)
}

func byProxy(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "proxyconnect"
}

func expired(err error) bool {
	var e x509.CertificateInvalidError
	return errors.As(err, &e) && e.Reason == x509.Expired
}

func untrusted(err error) bool {
	return anError[x509.UnknownAuthorityError](err) || anError[x509.CertificateInvalidError](err) || anError[*tls.CertificateVerificationError](err)
}

func unknownHost(err error) bool {
	var e *net.DNSError
	return errors.As(err, &e) && e.IsNotFound
}

func dialTimedOut(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial" && op.Timeout()
}

func timedOut(err error) bool {
	var e net.Error
	return errors.As(err, &e) && e.Timeout()
}
