package webhook

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"

	"github.com/apbridge/apbridge/adapter/egress"
	"github.com/go-resty/resty/v2"
)

var errPrivate = errors.New("the URL leads to a private network, which this bridge does not call (webhooks.allow_private_networks)")

// newClient returns a client for untrusted URLs. It uses no proxy from the environment, follows no redirects and keeps
// no cookies. Unless private networks are allowed, it connects only to public addresses. The address is checked when
// connecting, because an earlier resolution of the name proves nothing.
func newClient(private func() bool, agent string) *resty.Client {
	dialer := &net.Dialer{Timeout: 5 * time.Second, KeepAlive: 15 * time.Second}
	dialer.ControlContext = func(_ context.Context, network, address string, _ syscall.RawConn) error {
		if private() {
			return nil
		}
		return onlyPublic(network, address)
	}
	return egress.New(&http.Transport{
		DialContext: dialer.DialContext, TLSHandshakeTimeout: 5 * time.Second, ResponseHeaderTimeout: attemptTimeout,
		MaxResponseHeaderBytes: 64 << 10, MaxIdleConns: atOnce, MaxIdleConnsPerHost: 1, IdleConnTimeout: 30 * time.Second,
		DisableCompression: true,
	}, agent)
}

// onlyPublic refuses an address before a connection to it is made.
func onlyPublic(network, address string) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil || network != "tcp4" && network != "tcp6" || !publicAddr(at.Addr()) {
		return errPrivate
	}
	return nil
}
