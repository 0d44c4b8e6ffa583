package body_test

import (
	"bytes"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/body"
	"github.com/apbridge/apbridge/mapping"
)

// The headers decide whether a body is accepted. Without a body they are ignored.
func TestKinds(t *testing.T) {
	t.Parallel()
	const encoding, kind = "unsupported_content_encoding", "unsupported_content_type"
	for _, c := range []struct {
		contentType string
		encodings   []string
		code        string // of the refusal; "" if accepted
	}{
		{"application/json", nil, ""},
		{"Application/JSON", nil, ""},
		{"application/json; charset=utf-8", nil, ""},
		{`application/json;charset="UTF-8"`, nil, ""},
		{`application/json; charset=""`, nil, ""},
		{"application/json; charset=utf8", nil, ""},
		{"application/json; version=1", nil, ""},
		{"application/vnd.api+json", nil, ""},
		{"text/plain;charset=UTF-8", nil, ""},
		{"", nil, ""},
		{"application/json", []string{"identity"}, ""},
		{"application/json", []string{"Identity, ", ""}, ""},
		{"application/json; charset=latin1", nil, kind},
		{"application/json; charset=utf-16", nil, kind},
		{"text/plain; charset=US-ASCII", nil, ""},
		{"application/vnd.api+json; charset=iso-8859-1", nil, kind},
		{"application/json; charset=", nil, kind},
		{"application/json;;=", nil, kind},
		{"application/json, text/plain", nil, kind},
		{"+json", nil, kind},
		{"application/jsonl", nil, kind},
		{"text/html", nil, kind},
		{"multipart/form-data; boundary=x", nil, kind},
		{"application/json", []string{"gzip"}, encoding},
		{"application/json", []string{"identity", "br"}, encoding},
		{"application/json", []string{"identity, gzip"}, encoding},
		{"", []string{"x-own"}, encoding},
		{"text/html", []string{"gzip"}, encoding},
	} {
		for _, sent := range []string{`{}`, ""} {
			r := httptest.NewRequest("POST", "/", bytes.NewReader([]byte(sent)))
			r.ContentLength = -1 // as for a chunked body
			r.Header["Content-Encoding"] = c.encodings
			if c.contentType != "" {
				r.Header.Set("Content-Type", c.contentType)
			}
			raw, err := body.JSON(httptest.NewRecorder(), r, 100, body.TypeJSON, "+json", "text/plain", "")
			refused := c.code != "" && sent != ""
			if refused && (err == nil || mapping.Classify(err).Class != mapping.Unsupported || mapping.Classify(err).Code != c.code) || !refused && (err != nil || string(raw) != sent) {
				t.Errorf("%q as %q, encoded %q: %q, %v; want %q", sent, c.contentType, c.encodings, raw, err, c.code)
			}
		}
	}
}

// Only the types of the dialect are accepted.
func TestKindsOfADialect(t *testing.T) {
	t.Parallel()
	for contentType, taken := range map[string]bool{"application/json": true, "text/plain": false, "application/vnd.api+json": false, "": false} {
		r := httptest.NewRequest("POST", "/", strings.NewReader(`{}`))
		if contentType != "" {
			r.Header.Set("Content-Type", contentType)
		}
		if _, err := body.JSON(httptest.NewRecorder(), r, 100, body.TypeJSON); (err == nil) != taken {
			t.Errorf("%q: %v", contentType, err)
		}
	}
}

// White space counts as no body; any other body is returned as it was sent.
func TestBlankBodies(t *testing.T) {
	t.Parallel()
	for sent, want := range map[string]string{"": "", " \r\n\t": "", " {}\n": " {}\n"} {
		raw, err := body.JSON(httptest.NewRecorder(), httptest.NewRequest("POST", "/", strings.NewReader(sent)), 100, body.TypeJSON, "")
		if err != nil || string(raw) != want || (raw == nil) != (want == "") {
			t.Errorf("%q: %q, %v", sent, raw, err)
		}
	}
}
