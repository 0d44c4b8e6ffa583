package body_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/body"
	"github.com/apbridge/apbridge/mapping"
)

func TestObject(t *testing.T) {
	t.Parallel()
	deep := func(n int) string { return `{"a":` + strings.Repeat("[", n) + strings.Repeat("]", n) + `}` }
	for _, c := range []struct{ body, want string }{
		{`{}`, ""},
		{` {"a":1,"b":{"c":[" "]}}` + "\n", "a=1 b={\"c\":[\" \"]} "},
		{`{"\u0061":null}`, "a=null "},
		{deep(3), "a=[[[]]] "},
		{deep(4), "deeper than 4 levels, the limit of limits.max_json_depth"},
		{`[]`, "must be a JSON object"},
		{`"{"`, "must be a JSON object"},
		{``, "must be a JSON object"},
		{`{`, "not valid JSON (at byte 1)"},
		{`{"a":1,}`, "not valid JSON"},
		{`{"a":01}`, "not valid JSON"},
		{`[1`, "not valid JSON"},
		{`{}{}`, "more than one JSON value"},
		{`{"a":"` + "\xff" + `"}`, "not valid JSON"},
		{`{"a":"\ud800"}`, "not valid JSON"},
		{"\xef\xbb\xbf{}", "byte order mark"},
		{`{"a":1,"\u0061":2}`, "an object with the same key twice (at byte 7)"},
		{`{"a":[{"b":1,"b":2}]}`, "an object with the same key twice (at byte 13)"},
	} {
		var got strings.Builder
		err := body.Object([]byte(c.body), 4, func(name string, value json.RawMessage) error {
			fmt.Fprintf(&got, "%s=%s ", name, value)
			return nil
		})
		if err == nil {
			if got.String() != c.want {
				t.Errorf("%q was read as %q, want %q", c.body, got.String(), c.want)
			}
		} else if c.want == "" || !strings.Contains(err.Error(), c.want) || mapping.Classify(err).Class != mapping.Invalid {
			t.Errorf("%q: %v, want %q", c.body, err, c.want)
		}
	}
}

// FuzzObject checks that encoding/json reads an accepted body with the same result, and that values are slices of the
// body.
func FuzzObject(f *testing.F) {
	for _, s := range []string{`{"a":1,"b":[{}]}`, `{"a":{"b":"\u0000"}} `, `{"\u0061":1,"a":2}`, `[]`, `{}{}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got := map[string]json.RawMessage{}
		err := body.Object(raw, 100, func(name string, value json.RawMessage) error {
			got[name] = value
			return nil
		})
		if err != nil {
			if mapping.Classify(err).Class != mapping.Invalid {
				t.Errorf("%q: %v", raw, err)
			}
			return
		}
		var want map[string]json.RawMessage
		if err := json.Unmarshal(raw, &want); err != nil || len(want) != len(got) {
			t.Fatalf("%q is read as %q, by encoding/json as %q, %v", raw, got, want, err)
		}
		for name, value := range want {
			if !bytes.Equal(got[name], value) {
				t.Errorf("%q: %q is %q, want %q", raw, name, got[name], value)
			}
		}
	})
}

func TestJSON(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, err := body.JSON(w, r, 100_000, body.TypeJSON, "")
		fmt.Fprintf(w, "%d %v", len(raw), err)
	}))
	t.Cleanup(server.Close)
	for _, c := range []struct{ head, body, want string }{
		{"Content-Length: 100000", strings.Repeat("x", 100_000), "100000 <nil>"},
		{"Content-Length: 100001", "", "longer than 100000 bytes, the limit of limits.body"},
		{"Transfer-Encoding: chunked", "186a1\r\n" + strings.Repeat("x", 100_001) + "\r\n0\r\n\r\n", "longer than 100000 bytes"},
		{"Transfer-Encoding: chunked", "3\r\nabc\r\n0\r\n\r\n", "3 <nil>"},
		{"Content-Length: 5", "abc", "could not be read to its end"},
	} {
		conn, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n%s\r\n\r\n%s", c.head, c.body)
		if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		var answer bytes.Buffer
		_, _ = answer.ReadFrom(conn) // refusing an unread body may reset the connection
		conn.Close()
		if !strings.Contains(answer.String(), c.want) {
			t.Errorf("%s: %s, want %s", c.head, answer.String(), c.want)
		}
	}
}
