package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/apbridge/apbridge/config"
	"github.com/go-jose/go-jose/v4"
)

const (
	sourcePatience = 5 * time.Second // for a whole answer
	maxSource      = 256 << 10       // maximum bytes of an answer
	discovery      = "/.well-known/openid-configuration"
)

// source is the location of an issuer's keys. Its responses are limited in size and time, and only the jwks_uri of a
// discovery document is followed.
type source struct {
	cfg    config.JWT
	client *http.Client
}

func newSource(cfg config.JWT) *source {
	return &source{cfg, clientOver(&net.Dialer{Timeout: sourcePatience})}
}

func clientOver(dialer *net.Dialer) *http.Client {
	return &http.Client{
		Timeout:       sourcePatience,
		Transport:     &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true, ForceAttemptHTTP2: true, MaxResponseHeaderBytes: 64 << 10},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// keys reads the current keys.
func (s *source) keys() (list []jose.JSONWebKey, err error) {
	ctx, stop := context.WithTimeout(context.Background(), 2*sourcePatience)
	defer stop()
	raw, err := s.read(ctx)
	if err != nil {
		return nil, fmt.Errorf("auth.jwt %s: %w", s.cfg.ID, err)
	}
	if list, err = readKeys(raw); err != nil {
		return nil, fmt.Errorf("auth.jwt %s: %w", s.cfg.ID, err)
	}
	return list, nil
}

func (s *source) read(ctx context.Context) ([]byte, error) {
	switch {
	case s.cfg.JWKS == "":
		return s.discovered(ctx)
	case strings.Contains(s.cfg.JWKS, "://"):
		return get(ctx, s.client, s.cfg.JWKS)
	}
	raw, err := config.ReadFile(s.cfg.JWKS)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", s.cfg.JWKS, err)
	}
	return raw, nil
}

// discovered requests the location of the issuer's keys (OpenID Connect Discovery 1.0, section 4), and the keys.
func (s *source) discovered(ctx context.Context) ([]byte, error) {
	raw, err := get(ctx, s.client, strings.TrimSuffix(s.cfg.Issuer, "/")+discovery)
	if err != nil {
		return nil, err
	}
	var said struct {
		Issuer string `json:"issuer"`
		JWKS   string `json:"jwks_uri"`
	}
	if err := json.Unmarshal(raw, &said); err != nil {
		return nil, errors.New("its discovery document is not a JSON object")
	}
	if said.Issuer != s.cfg.Issuer { // section 4.3; otherwise any server could speak for it
		return nil, fmt.Errorf("its discovery document names the issuer %q", said.Issuer)
	}
	client, err := s.leading(said.JWKS)
	if err != nil {
		return nil, err
	}
	return get(ctx, client, said.JWKS)
}

// leading returns the client for an address from the issuer. On another host than the issuer's, it must be https and
// not on a private network, because that host is not configured.
func (s *source) leading(to string) (*http.Client, error) {
	own, err := url.Parse(s.cfg.Issuer)
	if err != nil {
		return nil, err
	}
	at, err := url.Parse(to)
	switch {
	case err != nil || at.Host == "" || at.User != nil:
		return nil, errors.New("the jwks_uri of its discovery document is not a URL")
	case at.Host == own.Host && at.Scheme == own.Scheme:
		return s.client, nil
	case at.Scheme != "https":
		return nil, errors.New("the jwks_uri of its discovery document is not an https URL")
	}
	return clientOver(&net.Dialer{Timeout: sourcePatience, Control: onlyElsewhere}), nil
}

// onlyElsewhere refuses addresses of this machine and of private networks when connecting.
func onlyElsewhere(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if ip := at.Addr().Unmap(); err != nil || !ip.IsGlobalUnicast() || ip.IsPrivate() {
		return errors.New("the jwks_uri of its discovery document leads to a private network; configure it as auth.jwt[].jwks")
	}
	return nil
}

func get(ctx context.Context, client *http.Client, from string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	res, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s responded with %d, but only 200 is accepted", from, res.StatusCode)
	}
	raw, err := io.ReadAll(io.LimitReader(res.Body, maxSource+1))
	if err == nil && len(raw) > maxSource {
		err = fmt.Errorf("there are more than %d bytes", maxSource)
	}
	return raw, err
}
