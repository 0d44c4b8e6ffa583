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

// Cause returns the reason why an exchange got no response, as text to follow "cannot be reached: ", with advice if
// there is any. The text contains neither the URL nor secrets. It is empty for an unknown cause.
func (f *Failure) Cause() string { return CauseOf(f.Err) }

// CauseOf is like Failure.Cause for an error of net/http.
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

// causes are tried in this order, so that errors of a proxy or TLS take precedence over the network error that they
// wrap.
var causes = []struct {
	is   func(error) bool
	says string
}{
	{byProxy, "no connection through the proxy in HTTP_PROXY or HTTPS_PROXY; check that it is running, or add the host to NO_PROXY"},
	{noTLS, "its server does not speak TLS; write http:// instead of https://"},
	{speaksTLS, "its server speaks TLS; write https:// instead of http://"},
	{saying("malformed HTTP"), "the program listening there does not speak HTTP; check the agent's port"},
	{anError[x509.HostnameError], "its certificate is for another host name; use the name in the certificate, or set server_name in the agent's tls section"},
	{expired, "its certificate has expired or is not valid yet; check the clocks of both machines"},
	{untrusted, "its certificate is signed by an authority that this machine does not trust; add the authority to the system's trust store, or set ca in the agent's tls section to its file"},
	{saying("tls: "), "the TLS handshake with its server failed; check which TLS versions and certificates it requires"},
	{unknownHost, "its host name is not known on this machine; check the spelling and the name servers"},
	{anError[*net.DNSError], "the name servers of this machine do not answer"},
	{is(syscall.ECONNREFUSED), "nothing is listening there (connection refused); check that the agent is running, and that its address and port can be reached from this machine"},
	{is(syscall.EHOSTUNREACH, syscall.ENETUNREACH), "there is no network route to its host"},
	{dialTimedOut, "no connection was made in time; check that its host is up and that no firewall drops the traffic"},
	{timedOut, "it did not answer in time; check whether it is busy and whether the port is right"},
	{is(net.ErrClosed), "the server responded before it had read the request, or closed the connection; check that it speaks HTTP, and whether it requires https://"},
	{is(io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.EPIPE), "its server closed the connection without responding; check that this is the agent's port, and whether it requires https://"},
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

// noTLS also matches the text that net/http uses for HTTP responses on connections that are not of type conn.
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
