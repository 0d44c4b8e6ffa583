package replay

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"unicode/utf8"
)

// version is the version of the format.
const version = 1

// Head is the first line of a recording.
type Head struct {
	Version int    `json:"apbridge_recording"`
	URL     string `json:"url"`     // of the agent, as configured
	Dialect string `json:"dialect"` // as configured; with auto, the detection is part of the recording
}

// Exchange is a call and its result.
type Exchange struct {
	N      int    `json:"n"` // number of the call from 1, in the order in which the calls began
	Call   Call   `json:"call"`
	Answer Answer `json:"answer"`
}

// Call is a request to the agent.
type Call struct {
	Method string `json:"method"`
	Target string `json:"target"` // path and query
	Type   string `json:"type,omitempty"`
	Body   Body   `json:"body,omitzero"`
	// Unread means that the call failed before its body was completely read.
	Unread bool `json:"unread,omitempty"`
}

// Answer is the agent's response.
type Answer struct {
	Status  int               `json:"status,omitempty"` // 0 if there was no response; Error has the reason
	Headers map[string]string `json:"headers,omitempty"`
	Body    Body              `json:"body,omitzero"`
	// Error is the reason for a missing or incomplete response.
	Error string `json:"error,omitempty"`
	// Sent means that there was no response, but that the agent may have received the call.
	Sent bool `json:"sent,omitempty"`
	// Left means that the bridge closed the response before its end.
	Left bool `json:"left,omitempty"`
}

// Body contains text if the body is UTF-8, or else base64.
type Body struct {
	Text  string `json:"text,omitempty"`
	Bytes []byte `json:"base64,omitempty"`
	// Cut means that the body is longer than the recorded part.
	Cut bool `json:"cut,omitempty"`
}

func bodyOf(raw []byte, cut bool) Body {
	if utf8.Valid(raw) {
		return Body{Text: string(raw), Cut: cut}
	}
	return Body{Bytes: raw, Cut: cut}
}

func (b Body) raw() string {
	if b.Bytes != nil {
		return string(b.Bytes)
	}
	return b.Text
}

// Recording is a recording read from a file.
type Recording struct {
	Head
	Exchanges []Exchange // in the order in which the calls began
}

// Open reads a recording. An error names the line that cannot be read.
func Open(file string) (*Recording, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r, err := read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return r, nil
}

var errForeign = errors.New("is not a recording of apbridge, which would begin with a line like {\"apbridge_recording\":1,…}")

func read(from io.Reader) (*Recording, error) {
	r, lines := &Recording{}, json.NewDecoder(bufio.NewReader(from))
	if err := lines.Decode(&r.Head); err != nil || r.Version == 0 {
		return nil, errForeign
	}
	if r.Version != version {
		return nil, fmt.Errorf("is a recording in format %d, but this version of apbridge reads format %d", r.Version, version)
	}
	for n := 2; ; n++ {
		var e Exchange
		switch err := lines.Decode(&e); {
		case err == io.EOF:
			slices.SortStableFunc(r.Exchanges, func(a, b Exchange) int { return cmp.Compare(a.N, b.N) })
			return r, nil
		case err != nil:
			return nil, fmt.Errorf("line %d: %w", n, err)
		case e.Call.Method == "" || e.Answer.Status == 0 && e.Answer.Error == "":
			return nil, fmt.Errorf("line %d: has no call, or no answer", n)
		}
		r.Exchanges = append(r.Exchanges, e)
	}
}
