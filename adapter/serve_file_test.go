package adapter_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/google/go-cmp/cmp"
)

const tenBytes = "0123456789"

// serveTen serves a file of ten bytes with the sum s.
func serveTen(t *testing.T, content io.ReadSeeker) *httptest.Server {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Header().Set("Content-Disposition", "attachment")
		err := adapter.ServeFile(w, r, "s", content)
		if e := (*mapping.Error)(nil); errors.As(err, &e) {
			http.Error(w, e.Message, adapter.Status(e.Class))
		}
	}))
	t.Cleanup(srv.Close)
	return srv
}

func TestRangesOfAFile(t *testing.T) {
	t.Parallel()
	srv := serveTen(t, strings.NewReader(tenBytes))
	for _, tt := range []struct {
		name, method, asked, unless string
		status                      int
		body, says                  string // the body and its Content-Range
	}{
		{"the whole", "GET", "", "", 200, tenBytes, ""},
		{"the first bytes", "GET", "bytes=0-3", "", 206, "0123", "bytes 0-3/10"},
		{"a byte amid", "GET", "bytes=5-5", "", 206, "5", "bytes 5-5/10"},
		{"the rest", "GET", "bytes=7-", "", 206, "789", "bytes 7-9/10"},
		{"the last bytes", "GET", "bytes=-2", "", 206, "89", "bytes 8-9/10"},
		{"past the end", "GET", "bytes=8-99", "", 206, "89", "bytes 8-9/10"},
		{"more last bytes than there are", "GET", "bytes=-99", "", 206, tenBytes, "bytes 0-9/10"},
		{"behind the end", "GET", "bytes=10-", "", 416, "The file has no bytes in this range. Content-Range has its size.\n", "bytes */10"},
		{"no numbers", "GET", "bytes=x", "", 416, "The file has no bytes in this range. Content-Range has its size.\n", ""},
		{"another unit", "GET", "lines=1-2", "", 200, tenBytes, ""},
		{"several", "GET", "bytes=0-1,4-5", "", 200, tenBytes, ""},
		{"of these bytes", "GET", "bytes=2-3", `"s"`, 206, "23", "bytes 2-3/10"},
		{"of other bytes", "GET", "bytes=2-3", `"other"`, 200, tenBytes, ""},
		{"of bytes of a time", "GET", "bytes=2-3", "Sat, 28 Nov 2026 14:00:00 GMT", 200, tenBytes, ""},
		{"of other bytes, behind the end", "GET", "bytes=99-", `"other"`, 200, tenBytes, ""},
		{"without a body", "HEAD", "bytes=2-3", "", 200, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			req, _ := http.NewRequestWithContext(t.Context(), tt.method, srv.URL, http.NoBody)
			for name, value := range map[string]string{"Range": tt.asked, "If-Range": tt.unless} {
				if value != "" {
					req.Header.Set(name, value)
				}
			}
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			body, err := io.ReadAll(res.Body)
			if err != nil || res.StatusCode != tt.status || string(body) != tt.body || res.Header.Get("Content-Range") != tt.says {
				t.Errorf("%s %q %q %v", res.Status, body, res.Header.Get("Content-Range"), err)
			}
			want := map[string]string{"ETag": `"s"`, "Content-Disposition": "attachment", "Accept-Ranges": "bytes"}
			if tt.status == 416 {
				want = map[string]string{"Content-Disposition": ""}
			}
			for name, value := range want {
				if d := cmp.Diff(value, res.Header.Get(name)); d != "" {
					t.Errorf("%s: %s", name, d)
				}
			}
		})
	}
}

func TestKnownFileIsNotSentAgain(t *testing.T) {
	t.Parallel()
	srv := serveTen(t, strings.NewReader(tenBytes))
	for tag, want := range map[string]int{`"s"`: 304, `"other"`: 200} {
		req, _ := http.NewRequestWithContext(t.Context(), "GET", srv.URL, http.NoBody)
		req.Header.Set("If-None-Match", tag)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("%s: %s", tag, res.Status)
		}
	}
}

// damaged fails after its first bytes.
type damaged struct{ *strings.Reader }

func (d damaged) Read(p []byte) (int, error) {
	if d.Len() < 6 {
		return 0, errDamaged
	}
	return d.Reader.Read(p[:min(len(p), 3)])
}

var errDamaged = errors.New("a chunk is missing")

func TestUnreadableFileIsReported(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	err := adapter.ServeFile(w, httptest.NewRequest("GET", "/", nil), "s", damaged{strings.NewReader(tenBytes)})
	if !errors.Is(err, errDamaged) || w.Header().Get("Content-Length") != "10" || w.Body.Len() >= 10 {
		t.Errorf("%v, %v, %q", err, w.Header(), w.Body)
	}
}
