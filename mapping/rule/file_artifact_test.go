package rule

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/state"
	"github.com/google/go-cmp/cmp"
)

func TestEncodeFile(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 21, 8, 0, 0, 5_000_000, time.FixedZone("", 3600))
	a := mapping.Artifact{ID: "id", Size: 9, CreatedAt: at, ModifiedAt: at}
	const times = `"created_at":"2026-11-21T07:00:00.005Z","modified_at":"2026-11-21T07:00:00.005Z"}`
	for _, c := range []struct{ what, got, want string }{
		{"text", string(EncodeFile(a, []byte("hi\n\"é\""), FileObject)), `{"content":"hi\n\"é\"","encoding":"utf-8","mimeType":"text/plain",` + times},
		{"bytes", string(EncodeFile(a, []byte{0xff, 0}, FileObject)), `{"content":"/wA=","encoding":"base64","mimeType":"application/octet-stream",` + times},
		{"NUL is no text", string(EncodeFile(a, []byte("a\x00"), FileString)), `{"content":"YQA=","encoding":"base64","mimeType":"application/octet-stream",` + times},
		{"string", string(EncodeFile(a, []byte("hi"), FileString)), `"hi"`},
		{"empty", string(EncodeFile(a, nil, FileString)), `""`},
		{"reference", string(EncodeReference(a, "/files/my%20agent/id")), `{"artifact_id":"id","url":"/files/my%20agent/id","size":9,"mimeType":"application/octet-stream",` + times},
	} {
		if c.got != c.want {
			t.Errorf("%s: %s\nwant %s", c.what, c.got, c.want)
		}
	}
	a.MIMEType = "application/octet-stream"
	if got := string(EncodeFile(a, []byte("hi"), FileObject)); got != `{"content":"hi","encoding":"utf-8","mimeType":"text/plain",`+times {
		t.Errorf("text of an unknown type: %s", got)
	}
	a.MIMEType = "text/markdown"
	for _, content := range []string{"text", "\xff\x00"} {
		list, bad := DecodeFiles(rawObject("/d/x", EncodeFile(a, []byte(content), FileObject)))
		want := []File{{Path: "d/x", Content: []byte(content), MIMEType: "text/markdown", ModifiedAt: at.UTC()}}
		if diff := cmp.Diff(want, list); diff != "" || bad != nil {
			t.Errorf("there and back: %s %v", diff, bad)
		}
	}
}

func TestDecodeFiles(t *testing.T) {
	t.Parallel()
	list, bad := DecodeFiles(asRaw(`{
		"/plain": "text", "/lines": {"content": ["a", "b", ""], "modified_at": "2026-01-02T03:04:05.123456"},
		"/py": {"content": "x", "encoding": "utf-8", "modified_at": "2026-01-02T03:04:05+01:00"},
		"/b64": {"content": "aGk=", "encoding": "base64"}, "/b64raw": {"content": "aGk", "encoding": "base64"},
		"/js": {"content": {"0": 104, "1": 105}, "mimeType": "a/b"}, "/buffer": {"content": {"type": "Buffer", "data": [104, 105]}},
		"/gone": null, "/ref": {"artifact_id": "id", "size": 5}, "/empty": {"content": []},
		"plain": "later", "../x": "bad", "/five": 5, "/none": {}, "/odd": {"content": "x", "encoding": "latin1"},
		"/notb64": {"content": "!", "encoding": "base64"}, "/byte": {"content": {"0": 256}}, "/keys": {"content": {"a": 1}}, "/mixed": {"content": ["a", 1]}
	}`))
	want := []File{
		{Path: "plain", Content: []byte("later")},
		{Path: "lines", Content: []byte("a\nb\n"), ModifiedAt: time.Date(2026, 1, 2, 3, 4, 5, 123456000, time.UTC)},
		{Path: "py", Content: []byte("x"), ModifiedAt: time.Date(2026, 1, 2, 2, 4, 5, 0, time.UTC)},
		{Path: "b64", Content: []byte("hi")}, {Path: "b64raw", Content: []byte("hi")},
		{Path: "js", Content: []byte("hi"), MIMEType: "a/b"}, {Path: "buffer", Content: []byte("hi")},
		{Path: "gone", Deleted: true}, {Path: "ref", Reference: "id"}, {Path: "empty", Content: []byte{}},
	}
	if diff := cmp.Diff(want, list); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"../x", "/five", "/none", "/odd", "/notb64", "/byte", "/keys", "/mixed"}, bad); diff != "" {
		t.Error(diff)
	}
	for _, in := range []string{``, `null`, `[]`, `{`} {
		if list, bad := DecodeFiles(asRaw(in)); list != nil || bad != nil {
			t.Errorf("DecodeFiles(%s) = %v, %v", in, list, bad)
		}
	}
}

func changedFiles(before, after *state.Fold) []File {
	list, _ := ChangedFiles(before, after)
	return list
}

func TestChangedFiles(t *testing.T) {
	t.Parallel()
	before := foldOf(t, `{"files":{"/same":"1","/changed":"1","/gone":"1","/bare":"1"}}`)
	after := foldOf(t, `{"files":{"/same":"1","/changed":"2","bare":"1","/new":{"content":["x"]},"/../bad":"x"}}`)
	want := []File{{Path: "changed", Content: []byte("2")}, {Path: "bare", Content: []byte("1")}, {Path: "new", Content: []byte("x")}, {Path: "gone", Deleted: true}}
	if diff := cmp.Diff(want, changedFiles(before, after)); diff != "" {
		t.Error(diff)
	}
	if got := changedFiles(after, after); got != nil {
		t.Errorf("no change: %v", got)
	}
	if got := changedFiles(nil, before); len(got) != 4 {
		t.Errorf("from nothing: %v", got)
	}
	if got := changedFiles(before, nil); len(got) != 4 || !got[0].Deleted {
		t.Errorf("to nothing: %v", got)
	}
}

func FuzzDecodeFiles(f *testing.F) {
	f.Add([]byte(`{"/a":"x","/b":{"content":["l"],"modified_at":"x"},"/c":{"content":"aGk=","encoding":"base64"},"/d":null}`))
	f.Add([]byte(`{"a":{"content":{"type":"Buffer","data":[1,2]}},"b":{"content":{"0":1}}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		list, bad := DecodeFiles(b)
		if len(list)+len(bad) > 0 && !json.Valid(b) {
			t.Errorf("files in invalid JSON: %s", b)
		}
		for _, file := range list {
			if clean, err := CleanPath(file.Path); err != nil || clean != file.Path {
				t.Errorf("the path %q is not clean: %v", file.Path, err)
			}
		}
	})
}
