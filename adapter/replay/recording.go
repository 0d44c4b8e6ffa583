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

// version of the format.
const version = 1

// Head is the first line of a recording.
type Head struct {
	Version int    `json:"apbridge_recording"`
	URL     string `json:"url"`     // of the agent, as it was configured
	Dialect string `json:"dialect"` // as it was configured: auto asks the recording, too
}

// Exchange is a call and what became of it.
type Exchange struct {
	N      int    `json:"n"` // calls count from 1, in the order in which they began
	Call   Call   `json:"call"`
	Answer Answer `json:"answer"`
}

// Call is what the agent was asked.
type Call struct {
	Method string `json:"method"`
	Target string `json:"target"` // path and query
	Type   string `json:"type,omitempty"`
	Body   Body   `json:"body,omitzero"`
	// Unread: the call failed before all of its body was read.
	Unread bool `json:"unread,omitempty"`
}

// Answer is what came back.
type Answer struct {
	Status  int               `json:"status,omitempty"` // 0: nothing did, and Error says why
	Headers map[string]string `json:"headers,omitempty"`
	Body    Body              `json:"body,omitzero"`
	// Error is why there is no answer, or why it broke off.
	Error string `json:"error,omitempty"`
	// Sent: without an answer, the agent may have got the call all the same.
	Sent bool `json:"sent,omitempty"`
	// Left: the answer went on when the bridge had enough of it.
	Left bool `json:"left,omitempty"`
}

// Body is text where it is UTF-8, else base64.
type Body struct {
	Text  string `json:"text,omitempty"`
	Bytes []byte `json:"base64,omitempty"`
	// Cut: there was more than a recording keeps.
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

// Recording is a file that was read.
type Recording struct {
	Head
	Exchanges []Exchange // in the order in which the calls began
}

// Open reads a recording. The error names the line that cannot be read.
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

var errForeign = errors.New("is no recording of apbridge, which begins with a line like {\"apbridge_recording\":1,…}")

func read(from io.Reader) (*Recording, error) {
	r, lines := &Recording{}, json.NewDecoder(bufio.NewReader(from))
	if err := lines.Decode(&r.Head); err != nil || r.Version == 0 {
		return nil, errForeign
	}
	if r.Version != version {
		return nil, fmt.Errorf("is a recording of form %d, and this version of apbridge reads form %d", r.Version, version)
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
