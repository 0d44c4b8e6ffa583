package inspect

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/apbridge/apbridge/adapter"
)

// The types of HTTP Archive 1.2. Required values that are unknown are -1 or empty. The names of members that the format
// does not define begin with an underscore (section Custom Fields).
type (
	har struct {
		Log harLog `json:"log"`
	}
	harLog struct {
		Version string     `json:"version"`
		Creator harCreator `json:"creator"`
		Entries []harEntry `json:"entries"`
	}
	harCreator struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	}
	harEntry struct {
		Started  time.Time   `json:"startedDateTime"`
		Time     float64     `json:"time"` // ms
		Request  harRequest  `json:"request"`
		Response harResponse `json:"response"`
		Cache    struct{}    `json:"cache"`
		Timings  harTimings  `json:"timings"`
		Comment  string      `json:"comment,omitempty"`
	}
	harRequest struct {
		Method  string       `json:"method"`
		URL     string       `json:"url"`
		Version string       `json:"httpVersion"`
		Cookies []harPair    `json:"cookies"`
		Headers []harPair    `json:"headers"`
		Query   []harPair    `json:"queryString"`
		Body    *harPostData `json:"postData,omitempty"`
		harSizes
	}
	harResponse struct {
		Status   int        `json:"status"`
		Text     string     `json:"statusText"`
		Version  string     `json:"httpVersion"`
		Cookies  []harPair  `json:"cookies"`
		Headers  []harPair  `json:"headers"`
		Content  harContent `json:"content"`
		Redirect string     `json:"redirectURL"`
		harSizes
	}
	harSizes struct {
		Headers int   `json:"headersSize"`
		Body    int64 `json:"bodySize"`
	}
	harPair struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	harPostData struct {
		Type     string    `json:"mimeType"`
		Text     string    `json:"text"`
		Params   []harPair `json:"params"`
		Encoding string    `json:"_encoding,omitempty"` // the format has none for requests
	}
	harContent struct {
		Size     int64  `json:"size"`
		Type     string `json:"mimeType"`
		Text     string `json:"text"`
		Encoding string `json:"encoding,omitempty"`
	}
	harTimings struct {
		Send    float64 `json:"send"`
		Wait    float64 `json:"wait"`
		Receive float64 `json:"receive"`
	}
)

const httpVersion = "HTTP/1.1"

// writeHAR writes the calls as an HTTP archive. It omits calls that are no longer kept.
func writeHAR(w io.Writer, version string, calls []adapter.AgentCall, get getCall) error {
	list := []harEntry{}
	for i := range calls {
		c, err := get(calls[i].N)
		switch {
		case err == nil:
			list = append(list, harEntryOf(&c))
		case !isNotFound(err):
			return err
		}
	}
	to := json.NewEncoder(w)
	to.SetEscapeHTML(false)
	return to.Encode(har{harLog{"1.2", harCreator{"apbridge", version}, list}})
}

func harEntryOf(c *adapter.AgentCall) harEntry {
	ms := float64(c.Took.Microseconds()) / 1000
	e := harEntry{Started: c.At, Time: ms, Timings: harTimings{Wait: ms}, Comment: harComment(c), Request: harRequest{
		Method: c.Method, URL: c.URL, Version: httpVersion, Cookies: []harPair{}, Headers: sortedPairs(c.Sent.Header), Query: queryPairs(c.URL), harSizes: harSizes{-1, c.Sent.Size},
	}, Response: harResponse{
		Status: c.Status, Text: http.StatusText(c.Status), Version: httpVersion, Cookies: []harPair{}, Headers: sortedPairs(c.Received.Header),
		Redirect: c.Received.Header["Location"], harSizes: harSizes{-1, c.Received.Size},
	}}
	if len(c.Sent.Body) > 0 {
		text, encoding := encodeBody(c.Sent.Body)
		e.Request.Body = &harPostData{c.Sent.Header["Content-Type"], text, []harPair{}, encoding}
	}
	text, encoding := encodeBody(c.Received.Body)
	e.Response.Content = harContent{c.Received.Size, c.Received.Header["Content-Type"], text, encoding}
	return e
}

func harComment(c *adapter.AgentCall) string {
	var parts []string
	if c.Error != "" {
		parts = append(parts, c.Error)
	}
	switch {
	case c.Withheld:
		parts = append(parts, "the bodies are left out because they may contain items of the long-term store outside of the key's namespaces")
	case c.Sent.Cut() || c.Received.Cut():
		parts = append(parts, "only the beginning of a long body is kept")
	}
	return strings.Join(parts, "; ")
}

func sortedPairs(of map[string]string) []harPair {
	list := []harPair{}
	for _, name := range slices.Sorted(maps.Keys(of)) {
		list = append(list, harPair{name, of[name]})
	}
	return list
}

func queryPairs(target string) []harPair {
	list := []harPair{}
	u, err := url.Parse(target)
	if err != nil {
		return list
	}
	values := u.Query()
	for _, name := range slices.Sorted(maps.Keys(values)) {
		for _, v := range values[name] {
			list = append(list, harPair{name, v})
		}
	}
	return list
}
