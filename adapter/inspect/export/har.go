package export

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/apbridge/apbridge/adapter"
)

// The types are those of HTTP Archive 1.2; what it demands and is not known is -1 or empty. A member that it does not
// know begins with an underscore (section Custom Fields).
type (
	archive struct {
		Log archiveLog `json:"log"`
	}
	archiveLog struct {
		Version string  `json:"version"`
		Creator creator `json:"creator"`
		Entries []entry `json:"entries"`
	}
	creator struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	}
	entry struct {
		Started  time.Time `json:"startedDateTime"`
		Time     float64   `json:"time"` // ms
		Request  request   `json:"request"`
		Response response  `json:"response"`
		Cache    struct{}  `json:"cache"`
		Timings  timings   `json:"timings"`
		Comment  string    `json:"comment,omitempty"`
	}
	request struct {
		Method  string    `json:"method"`
		URL     string    `json:"url"`
		Version string    `json:"httpVersion"`
		Cookies []pair    `json:"cookies"`
		Headers []pair    `json:"headers"`
		Query   []pair    `json:"queryString"`
		Body    *postData `json:"postData,omitempty"`
		sizes
	}
	response struct {
		Status   int     `json:"status"`
		Text     string  `json:"statusText"`
		Version  string  `json:"httpVersion"`
		Cookies  []pair  `json:"cookies"`
		Headers  []pair  `json:"headers"`
		Content  content `json:"content"`
		Redirect string  `json:"redirectURL"`
		sizes
	}
	sizes struct {
		Headers int   `json:"headersSize"`
		Body    int64 `json:"bodySize"`
	}
	pair struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	postData struct {
		Type     string `json:"mimeType"`
		Text     string `json:"text"`
		Params   []pair `json:"params"`
		Encoding string `json:"_encoding,omitempty"` // the form has none for what was sent
	}
	content struct {
		Size     int64  `json:"size"`
		Type     string `json:"mimeType"`
		Text     string `json:"text"`
		Encoding string `json:"encoding,omitempty"`
	}
	timings struct {
		Send    float64 `json:"send"`
		Wait    float64 `json:"wait"`
		Receive float64 `json:"receive"`
	}
)

const httpVersion = "HTTP/1.1"

// HAR writes the calls as an HTTP archive. get is as of Lines.
func HAR(w io.Writer, bridge string, calls []adapter.AgentCall, get func(n int64) (adapter.AgentCall, error)) error {
	list := []entry{}
	for i := range calls {
		c, err := get(calls[i].N)
		switch {
		case err == nil:
			list = append(list, entryOf(&c))
		case !gone(err):
			return err
		}
	}
	to := json.NewEncoder(w)
	to.SetEscapeHTML(false)
	return to.Encode(archive{archiveLog{"1.2", creator{"apbridge", bridge}, list}})
}

func entryOf(c *adapter.AgentCall) entry {
	ms := float64(c.Took.Microseconds()) / 1000
	e := entry{Started: c.At, Time: ms, Timings: timings{Wait: ms}, Comment: comment(c), Request: request{
		Method: c.Method, URL: c.URL, Version: httpVersion, Cookies: []pair{}, Headers: pairs(c.Sent.Header), Query: query(c.URL), sizes: sizes{-1, c.Sent.Size},
	}, Response: response{
		Status: c.Status, Text: http.StatusText(c.Status), Version: httpVersion, Cookies: []pair{}, Headers: pairs(c.Received.Header),
		Redirect: c.Received.Header["Location"], sizes: sizes{-1, c.Received.Size},
	}}
	if len(c.Sent.Body) > 0 {
		text, encoding := textOf(c.Sent.Body)
		e.Request.Body = &postData{c.Sent.Header["Content-Type"], text, []pair{}, encoding}
	}
	text, encoding := textOf(c.Received.Body)
	e.Response.Content = content{c.Received.Size, c.Received.Header["Content-Type"], text, encoding}
	return e
}

func comment(c *adapter.AgentCall) string {
	said := c.Error
	if c.Withheld {
		if said != "" {
			said += "; "
		}
		return said + "the bodies are left out: they may hold items of the long-term store outside of the namespaces of the key"
	}
	if c.Sent.Cut() || c.Received.Cut() {
		if said != "" {
			said += "; "
		}
		said += "only the first bytes of a long body are kept"
	}
	return said
}

func pairs(of map[string]string) []pair {
	list := []pair{}
	for _, name := range slices.Sorted(maps.Keys(of)) {
		list = append(list, pair{name, of[name]})
	}
	return list
}

func query(target string) []pair {
	list := []pair{}
	u, err := url.Parse(target)
	if err != nil {
		return list
	}
	values := u.Query()
	for _, name := range slices.Sorted(maps.Keys(values)) {
		for _, v := range values[name] {
			list = append(list, pair{name, v})
		}
	}
	return list
}
