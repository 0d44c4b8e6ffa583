package sse_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/apbridge/apbridge/adapter/sse"
	"github.com/google/go-cmp/cmp"
)

type event struct{ Name, Data, ID string }

// readAll reads a stream to its end and returns the error that ended it.
func readAll(r io.Reader, max int) ([]event, error) {
	var out []event
	sr := sse.NewReader(r, max)
	for {
		ev, err := sr.Next()
		if err != nil {
			return out, err
		}
		out = append(out, event{ev.Name, string(ev.Data), ev.ID})
	}
}

func TestReader(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, in string
		want     []event
		err      error
	}{
		{"nothing", "", nil, io.EOF},
		{"one event", "event: values\ndata: {}\nid: 1\n\n", []event{{"values", "{}", "1"}}, io.EOF},
		{"CR and CRLF", "event: a\rdata: 1\r\rdata: 2\r\n\r\n", []event{{"a", "1", ""}, {"", "2", ""}}, io.EOF},
		{"data lines are joined", "data: a\ndata:b\ndata\n\n", []event{{"", "a\nb\n", ""}}, io.EOF},
		{"only the first space goes", "data:  a\n\n", []event{{"", " a", ""}}, io.EOF},
		{"byte order mark", "\ufeffdata: a\n\n", []event{{"", "a", ""}}, io.EOF},
		{"comments and heartbeats", ": x\n: y\n\ndata: a\n: z\n\n", []event{{"", "a", ""}}, io.EOF},
		{"no data, no event", "event: a\nid: 3\n\ndata: b\n\n", []event{{"", "b", "3"}}, io.EOF},
		{"empty data is an event", "event: end\ndata:\n\n", []event{{"end", "", ""}}, io.EOF},
		{"the id stays", "data: a\nid: 4\n\ndata: b\n\n", []event{{"", "a", "4"}, {"", "b", "4"}}, io.EOF},
		{"an empty id resets", "data: a\nid: 4\n\ndata: b\nid\n\n", []event{{"", "a", "4"}, {"", "b", ""}}, io.EOF},
		{"an id with NUL is ignored", "data: a\nid: 4\x00\n\n", []event{{"", "a", ""}}, io.EOF},
		{"unknown fields", "foo: 1\nfoo\ndata: a\n\n", []event{{"", "a", ""}}, io.EOF},
		{"cut off within an event", "data: a\n\ndata: b\n", []event{{"", "a", ""}}, io.ErrUnexpectedEOF},
		{"cut off within a line", "data: a\n\nda", []event{{"", "a", ""}}, io.ErrUnexpectedEOF},
		{"ends after a heartbeat", "data: a\n\n: heartbeat\n", []event{{"", "a", ""}}, io.EOF},
		{"CR NUL U+2028 in data", "data: a\x00\u2028b\n\n", []event{{"", "a\x00\u2028b", ""}}, io.EOF},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, r := range []io.Reader{strings.NewReader(c.in), iotest.OneByteReader(strings.NewReader(c.in))} {
				got, err := readAll(r, 0)
				if d := cmp.Diff(c.want, got); d != "" {
					t.Error(d)
				}
				if !errors.Is(err, c.err) {
					t.Errorf("ended with %v, want %v", err, c.err)
				}
			}
		})
	}
}

func TestReaderLimits(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 2000)
	for name, in := range map[string]string{
		"one line":           "data: " + long + "\n\n",
		"a line with no end": "data: " + long,
		"many lines":         strings.Repeat("data: 123456789\n", 200) + "\n",
		"a comment":          ": " + long + "\n",
	} {
		if _, err := readAll(strings.NewReader(in), 1000); !errors.Is(err, sse.ErrTooLong) {
			t.Errorf("%s: got %v, want ErrTooLong", name, err)
		}
	}
	small := strings.Repeat("data: 123456789\n\n", 1000)
	if got, err := readAll(strings.NewReader(small), 1000); len(got) != 1000 || err != io.EOF {
		t.Errorf("%d events, %v; the limit must apply to each event", len(got), err)
	}
}

// A live stream may pause right after a CR. The event must not wait for the next byte.
func TestReaderDeliversAtOnceAfterCR(t *testing.T) {
	t.Parallel()
	pr, pw := io.Pipe()
	defer pr.Close()
	go func() { _, _ = pw.Write([]byte("data: a\r\r")) }()
	got := make(chan string, 1)
	go func() {
		ev, _ := sse.NewReader(pr, 0).Next()
		got <- string(ev.Data)
	}()
	select {
	case s := <-got:
		if s != "a" {
			t.Errorf("got %q", s)
		}
	case <-time.After(time.Minute):
		t.Fatal("the event was not delivered before the next byte")
	}
}

func TestReaderDataIsTheCallers(t *testing.T) {
	t.Parallel()
	r := sse.NewReader(strings.NewReader("data: one\n\ndata: two\n\n"), 0)
	a, _ := r.Next()
	b, _ := r.Next()
	if string(a.Data) != "one" || string(b.Data) != "two" {
		t.Errorf("got %q and %q", a.Data, b.Data)
	}
}

// FuzzReader checks that nothing panics, that chunking does not matter, and that events survive being written and read
// again.
func FuzzReader(f *testing.F) {
	for _, s := range []string{"", "data: a\n\n", "event: e\r\ndata: 1\r\ndata: 2\r\nid: 3\r\n\r\n", "\ufeff: c\r\rid\n\n", "data\n\n", ":\n\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		whole, err := readAll(bytes.NewReader(in), 4096)
		bytewise, err2 := readAll(iotest.OneByteReader(bytes.NewReader(in)), 4096)
		if d := cmp.Diff(whole, bytewise); d != "" || !errors.Is(err2, err) {
			t.Fatalf("the result depends on the chunking (%v, %v): %s", err, err2, d)
		}
		var wire []byte
		for _, ev := range whole {
			wire = sse.AppendFrame(wire, ev.Name, []byte(ev.Data), ev.ID)
			wire = sse.AppendHeartbeat(wire)
		}
		again, err := readAll(bytes.NewReader(wire), 0)
		if err != io.EOF || len(again) != len(whole) {
			t.Fatalf("%d of %d events survive: %v", len(again), len(whole), err)
		}
		for i := range whole {
			if again[i].Name != strings.ReplaceAll(whole[i].Name, "\x00", "") || again[i].Data != whole[i].Data {
				t.Fatalf("event %d: %q became %q", i, whole[i], again[i])
			}
		}
	})
}
