package replay

import (
	"strings"
	"testing"
)

// FuzzRead checks that any file is either read or refused, and that a recording can be played to its end.
func FuzzRead(f *testing.F) {
	f.Add(`{"apbridge_recording":1}` + "\n" + `{"n":1,"call":{"method":"POST","target":"/x","body":{"text":"{}"}},"answer":{"status":200}}`)
	f.Add(`{"apbridge_recording":1}` + "\n" + `{"n":1,"call":{"method":"GET","target":"%zz","type":"multipart/form-data; boundary=a","body":{"base64":"/w=="}},"answer":{"error":"x","sent":true}}`)
	f.Fuzz(func(t *testing.T, text string) {
		r, err := read(strings.NewReader(text))
		if err != nil {
			return
		}
		p := NewPlayer(r)
		for _, e := range r.Exchanges {
			if _, differs := p.find(e.Call); differs != "" && !e.Call.Unread {
				t.Errorf("the recorded call %+v is not found: %s", e.Call, differs)
			}
		}
	})
}
