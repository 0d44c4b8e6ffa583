package api

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
)

// Refused is the error of a request that the bridge refused.
type Refused struct {
	Status  int
	Code    string
	Message string
}

func (r *Refused) Error() string { return r.Message }

// NotFound reports whether an error means that the bridge has no such object.
func NotFound(err error) bool {
	var r *Refused
	return errors.As(err, &r) && r.Status == http.StatusNotFound
}

// mostWords is the maximum number of bytes that are read of a refusal.
const mostWords = 64 << 10

func (c *Client) refused(res *http.Response) error {
	r := &Refused{Status: res.StatusCode}
	var words struct{ Code, Message string }
	raw, _ := io.ReadAll(io.LimitReader(res.Body, mostWords))
	if json.Unmarshal(raw, &words) != nil || words.Message == "" {
		r.Message = c.strange(res, raw) + " with --url or APBRIDGE_URL"
		return r
	}
	r.Code, r.Message = words.Code, words.Message
	if res.StatusCode == http.StatusUnauthorized {
		r.Message += " With this command, use APBRIDGE_KEY or --key."
	}
	return r
}

// strange describes a response that does not come from a bridge. A TLS listener responds to http:// with its own text.
func (c *Client) strange(res *http.Response, raw []byte) string {
	if res.StatusCode == http.StatusBadRequest && (bytes.Contains(raw, []byte("TLS")) || bytes.Contains(raw, []byte("HTTPS"))) {
		return c.base + " speaks TLS. Use https:// instead of http://"
	}
	return fmt.Sprintf("%s responded with %s, unlike a bridge. Set the URL of the bridge", c.base, res.Status)
}

// unreached returns the error of a request without a response. It contains the address only once.
func (c *Client) unreached(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return fmt.Errorf("no bridge answers at %s: %w. Start one with apbridge serve, or set another URL with --url or APBRIDGE_URL", c.base, cause(err))
}

// unread returns the error of a response that broke off or is not JSON.
func (c *Client) unread(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return fmt.Errorf("the response of %s could not be read: %w. Is it a bridge?", c.base, err)
}

// cause unwraps the layers of net/http, which repeat the address.
func cause(err error) error {
	if u := (*url.Error)(nil); errors.As(err, &u) {
		err = u.Err
	}
	if unknown := (x509.UnknownAuthorityError{}); errors.As(err, &unknown) {
		return fmt.Errorf("its certificate is not signed by an authority that this machine trusts (SSL_CERT_FILE can name more)")
	}
	if name := (*net.DNSError)(nil); errors.As(err, &name) {
		return fmt.Errorf("there is no host %s", name.Name)
	}
	if op := (*net.OpError)(nil); errors.As(err, &op) {
		err = op.Err
	}
	if sys := (*os.SyscallError)(nil); errors.As(err, &sys) {
		err = sys.Err
	}
	return err
}
