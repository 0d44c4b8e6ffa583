package body_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/body"
	"github.com/apbridge/apbridge/mapping"
	"github.com/google/go-cmp/cmp"
)

const encoded = "application/x-www-form-urlencoded"

func posted(contentType, sent string) *http.Request {
	r := httptest.NewRequest("POST", "/?a=query", strings.NewReader(sent))
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	return r
}

func TestValues(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		contentType, sent string
		want              url.Values
		class             mapping.Class
	}{
		{encoded, "a=1&b=x+y&a=%C3%BC", url.Values{"a": {"1", "ü"}, "b": {"x y"}}, ""},
		{encoded + "; charset=UTF-8", "a=one%0D%0Atwo%0Athree", url.Values{"a": {"one\ntwo\nthree"}}, ""},
		{encoded, "", url.Values{}, ""},
		{"", "", url.Values{}, ""},
		{"text/html", "", url.Values{}, ""},
		{encoded, "a", url.Values{"a": {""}}, ""},
		{"", "a=1", nil, mapping.Unsupported},
		{"text/plain", "a=1", nil, mapping.Unsupported},
		{"application/json", `{"a":1}`, nil, mapping.Unsupported},
		{encoded + "; charset=latin1", "a=%FC", nil, mapping.Unsupported},
		{encoded, "a=%", nil, mapping.Malformed},
		{encoded, "a=1;b=2", nil, mapping.Malformed},
		{encoded, "a=%FF", nil, mapping.Malformed},
		{encoded, "%FF=a", nil, mapping.Malformed},
		{encoded, "a=%00", nil, mapping.Malformed},
		{encoded, "a=" + strings.Repeat("x", 100), nil, mapping.TooLarge},
	} {
		got, err := body.Values(httptest.NewRecorder(), posted(c.contentType, c.sent), 100)
		if diff := cmp.Diff(c.want, got); diff != "" || (err == nil) != (c.class == "") || err != nil && mapping.Classify(err).Class != c.class {
			t.Errorf("%q as %q: %v (-want +got):\n%s", c.sent, c.contentType, err, diff)
		}
	}
}

// FuzzValues checks that accepted values equal those of net/url, as text with LF as line breaks.
func FuzzValues(f *testing.F) {
	for _, s := range []string{"a=1&b=x+y", "a=%0D%0A", "%ff", "a=1;b", "=&&=", "a=%"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, sent string) {
		got, err := body.Values(httptest.NewRecorder(), posted(encoded, sent), 0)
		if err != nil {
			if mapping.Classify(err).Class != mapping.Malformed {
				t.Errorf("%q: %v", sent, err)
			}
			return
		}
		want, err := url.ParseQuery(sent)
		for name, values := range want {
			for i, v := range values {
				if values[i] = strings.ReplaceAll(v, "\r\n", "\n"); !mapping.IsText(name + v) {
					t.Errorf("%q is accepted although a value is not text", sent)
				}
			}
		}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q is read as %v, by net/url as %v, %v", sent, got, want, err)
		}
	})
}
