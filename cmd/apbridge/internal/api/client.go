package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// Client calls one bridge. It is safe for concurrent use.
type Client struct {
	base string
	key  string
	http *http.Client
}

// New returns a client for the bridge at address, which is http://host:port with or without a path prefix. key may be
// "" for a bridge without keys.
func New(address, key string) (*Client, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, fmt.Errorf("%q is not the URL of a bridge, such as http://127.0.0.1:8080", address)
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("%q may have only a host and a path; put a key into APBRIDGE_KEY", u.Redacted())
	}
	return &Client{base: strings.TrimRight(u.Scheme+"://"+u.Host+u.EscapedPath(), "/"), key: key, http: &http.Client{}}, nil
}

// URL returns the address of the bridge, without a trailing slash.
func (c *Client) URL() string { return c.base }

// WithKey reports whether requests have a key.
func (c *Client) WithKey() bool { return c.key != "" }

// call sends body as JSON unless it is nil, and decodes the response into answer unless that is nil. If the bridge
// refuses the request, the error is a *Refused.
func (c *Client) call(ctx context.Context, method, path string, body, answer any) (http.Header, error) {
	res, err := c.send(ctx, method, path, body, nil)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if answer == nil {
		_, err = io.Copy(io.Discard, res.Body)
	} else {
		err = json.NewDecoder(res.Body).Decode(answer)
	}
	if err != nil {
		return nil, c.unread(ctx, err)
	}
	return res.Header, nil
}

// send returns a successful response. The caller must close its body.
func (c *Client) send(ctx context.Context, method, path string, body any, header http.Header) (*http.Response, error) {
	req, err := c.request(ctx, method, path, body)
	if err != nil {
		return nil, err
	}
	for name, values := range header {
		req.Header[name] = values
	}
	res, err := c.http.Do(req)
	if err != nil {
		return nil, c.unreached(ctx, err)
	}
	if res.StatusCode >= http.StatusMultipleChoices {
		defer res.Body.Close()
		return nil, c.refused(res)
	}
	return res, nil
}

func (c *Client) request(ctx context.Context, method, path string, body any) (*http.Request, error) {
	var content io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		content = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, content)
	if err != nil {
		return nil, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.key != "" {
		req.Header.Set("X-Api-Key", c.key)
	}
	return req, nil
}
