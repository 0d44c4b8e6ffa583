package conformance_test

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/conformance"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/conformance/check"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
)

// fault breaks one rule for matching requests.
type fault struct {
	check string // that must fail
	on    string // regular expression for "METHOD /path?query BODY"
	do    func(*http.Response)
}

// status replaces a response.
func status(code int, body string) func(*http.Response) {
	return func(res *http.Response) {
		res.StatusCode = code
		replaced(res, []byte(body))
	}
}

// swap replaces a regular expression in a response, in streams line by line.
func swap(old, with string) func(*http.Response) {
	pattern := regexp.MustCompile(old)
	return func(res *http.Response) {
		if strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
			res.Body = lines(res.Body, func(line string) string { return pattern.ReplaceAllString(line, with) })
			return
		}
		body, _ := io.ReadAll(res.Body)
		replaced(res, pattern.ReplaceAll(body, []byte(with)))
	}
}

// typed replaces the content type.
func typed(media string) func(*http.Response) {
	return func(res *http.Response) { res.Header.Set("Content-Type", media) }
}

func replaced(res *http.Response, body []byte) {
	res.Body.Close()
	res.Body, res.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	res.Header.Set("Content-Length", strconv.Itoa(len(body)))
}

// lines changes each line of a stream.
func lines(from io.ReadCloser, change func(string) string) io.ReadCloser {
	r, w := io.Pipe()
	go func() {
		defer from.Close()
		in := bufio.NewReader(from)
		for {
			line, err := in.ReadString('\n')
			if _, bad := io.WriteString(w, change(line)); bad != nil || err != nil {
				w.CloseWithError(err)
				return
			}
		}
	}()
	return r
}

// breaking is a proxy that breaks one rule of a server.
func breaking(t *testing.T, server string, f fault) string {
	t.Helper()
	target, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	pattern := regexp.MustCompile(f.on)
	proxy := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		FlushInterval: -1,
		ErrorHandler:  func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
		ModifyResponse: func(res *http.Response) error {
			if said, _ := res.Request.Context().Value(saidKey{}).(string); pattern.MatchString(said) {
				f.do(res)
			}
			return nil
		},
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		proxy.ServeHTTP(w, r.WithContext(withSaid(r, string(body))))
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

// A server that breaks one rule fails the check of that rule and no other.
func TestBrokenServers(t *testing.T) {
	t.Parallel()
	for dialect, table := range brokenServers {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			b := rig.InFront(t, adaptertest.NewStepAgent(adaptertest.Plain))
			for _, f := range table {
				f.check = dialect + "." + f.check
				r := checked(t, breaking(t, b.URL, f), time.Minute, dialect)
				if got := failures(r); !slices.Equal(got, []string{f.check}) {
					t.Errorf("%s on %s: %v failed\n%s", f.check, f.on, got, reasons(r))
				}
			}
			for _, s := range conformance.Suites() {
				if s.Name != dialect {
					continue
				}
				for _, c := range s.Begin() {
					// An agent that never ends only skips v1.step.last.
					if c.ID != "v1.step.last" && !slices.ContainsFunc(table, func(f fault) bool { return dialect+"."+f.check == c.ID }) {
						t.Errorf("no server breaks the rule of %s", c.ID)
					}
				}
			}
		})
	}
}

// saidKey is the context key of the text "METHOD /path?query BODY".
type saidKey struct{}

func withSaid(r *http.Request, body string) context.Context {
	return context.WithValue(r.Context(), saidKey{}, r.Method+" "+r.URL.RequestURI()+" "+body)
}

func reasons(r conformance.Report) string {
	var text strings.Builder
	for _, d := range r.Dialects {
		for _, c := range d.Results {
			if c.Status != check.Passed {
				text.WriteString(string(c.Status) + " " + c.ID + ": " + c.Reason + "\n")
			}
		}
	}
	return text.String()
}
