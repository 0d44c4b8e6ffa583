package rule

import (
	"encoding/json"
	"strings"
	"testing"
	"unsafe"
)

// TestSayInput checks that the text of the request, which may be long, is in memory once. Other messages are read in
// their current form.
func TestSayInput(t *testing.T) {
	t.Parallel()
	name := func(a Attachment) string { return a.Name }
	in, err := ParseInput(json.RawMessage(`{"messages":[{"type":"human","id":"1","content":"first"},`+
		`{"type":"human","id":"2","content":"`+strings.Repeat(`\"`, 1000)+`"},{"type":"ai","id":"3","content":"later"}]}`), nil, someRun)
	if err != nil {
		t.Fatal(err)
	}
	if got := in.InputTextWithFiles(in.Messages[1], name); got != in.Text || unsafe.StringData(got) != unsafe.StringData(in.Text) {
		t.Errorf("the text of the request has %d separate bytes, want the %d bytes of the input", len(got), len(in.Text))
	}
	for message, want := range map[string]string{
		string(in.Messages[0]):                            "first",
		string(in.Messages[2]):                            "later",
		`{"type":"human","id":"2","content":"said anew"}`: "said anew",
	} {
		if got := in.InputTextWithFiles(json.RawMessage(message), name); got != want {
			t.Errorf("%s says %q, want %q", message, got, want)
		}
	}
	in, err = ParseInput(json.RawMessage(`{"messages":[{"type":"human","content":[{"type":"text","text":"look"},{"type":"file","filename":"a.txt","data":"QUJD"}]}]}`), nil, someRun)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := in.InputTextWithFiles(in.Messages[0], name), "look\n[Attached file: a.txt]"; got != want {
		t.Errorf("says %q, want %q", got, want)
	}
}
