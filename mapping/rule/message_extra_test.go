package rule

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTakeExtras(t *testing.T) {
	t.Parallel()
	type extra struct{ Link, Name, Type, Data string }
	for name, c := range map[string]struct {
		message, rest string
		want          []extra
	}{
		"text": {message: `{"content":"{}","additional_kwargs":{"a2a_data":[0]}}`},
		"data and a link": {
			message: `{"content":[{"type":"text","text":"{\"a\":1.50}"},{"type":"text","text":"look"},{"type":"image_url","image_url":{"url":"https://x.example/a.png"}}],"additional_kwargs":{"a2a_data":[0]}}`,
			rest:    `{"content":[{"type":"text","text":"look"}],"additional_kwargs":{"a2a_data":[0]}}`,
			want:    []extra{{Data: `{"a":1.50}`}, {Link: "https://x.example/a.png"}},
		},
		"a link with a name": {
			message: `{"content":[{"type":"file","source_type":"url","url":"https://x.example/a","mime_type":"text/csv","filename":"a.csv"}]}`,
			rest:    `{"content":[]}`,
			want:    []extra{{Link: "https://x.example/a", Name: "a.csv", Type: "text/csv"}},
		},
		"a provider's id, a file and JSON that is text": {
			message: `{"content":[{"type":"file","fileId":"file-1"},{"type":"file","data":"aGk=","mimeType":"text/plain"},"{}"]}`,
		},
		"a number of a block that is not JSON": {message: `{"content":[{"type":"text","text":"hi"}],"additional_kwargs":{"a2a_data":[0,7]}}`},
	} {
		rest, extras := TakeExtras(json.RawMessage(c.message))
		var got []extra
		for _, e := range extras {
			got = append(got, extra{e.Link.Link, e.Link.Name, e.Link.MIMEType, string(e.Data)})
		}
		want := c.rest
		if want == "" {
			want = c.message
		}
		if diff := cmp.Diff(c.want, got); diff != "" || string(rest) != want {
			t.Errorf("%s: the rest is %s (-want +got):\n%s", name, rest, diff)
		}
	}
}
