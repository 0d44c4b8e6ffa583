package rig

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"testing"
)

// IsJSON reports whether the Content-Type is JSON, with or without a charset.
func IsJSON(h http.Header) bool {
	media, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	return err == nil && media == "application/json"
}

// Call sends one request with JSON and returns the response, which must have status 200 or 204.
func Call(ctx context.Context, c *http.Client, method, url, body string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	res, err := Send(c, req, "application/json")
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	return io.ReadAll(res.Body)
}

// Send returns an error for any status except 200 and 204.
func Send(c *http.Client, req *http.Request, contentType string) (*http.Response, error) {
	req.Header.Set("Content-Type", contentType)
	res, err := c.Do(req)
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK && res.StatusCode != http.StatusNoContent {
		defer res.Body.Close()
		text, _ := io.ReadAll(io.LimitReader(res.Body, 200))
		return nil, fmt.Errorf("%s returned %d: %s", req.URL, res.StatusCode, text)
	}
	return res, nil
}

// Between returns the text between two marks. It fails if one is missing.
func Between(b []byte, from, to string) (string, error) {
	_, rest, ok := bytes.Cut(b, []byte(from))
	found, _, end := bytes.Cut(rest, []byte(to))
	if !ok || !end {
		return "", fmt.Errorf("no %s in %.200s", from, b)
	}
	return string(found), nil
}

// InstantText answers with JSON.
func InstantText(w http.ResponseWriter, body string) {
	w.Header().Set("Content-Type", "application/json")
	io.WriteString(w, body)
}

// Status returns the status of a GET of url.
func Status(t *testing.T, url string) int {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	return res.StatusCode
}
