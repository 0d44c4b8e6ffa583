package inspect

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/mapping"
)

// An image is recognized by its bytes and sent whole. Text is not cut within a rune.
func TestPreviewTypeComesFromTheBytes(t *testing.T) {
	t.Parallel()
	png := append([]byte("\x89PNG\r\n\x1a\n"), bytes.Repeat([]byte{0}, 2000)...)
	const text = "text/plain; charset=utf-8"
	for name, one := range map[string]struct {
		body []byte
		size int64
		kind string // "" if refused
		want string
	}{
		"an image":              {png, 0, "image/png", string(png)},
		"an image, too large":   {png, previewImage + 1, "", ""},
		"a drawing with script": {[]byte(`<svg onload="x()"/>`), 0, text, `<svg onload="x()"/>`},
		"a page":                {[]byte("<html><script>x()</script>"), 0, text, "<html><script>x()</script>"},
		"bytes":                 {[]byte{0xfe, 0xff, 0x80, 0x81, 'x'}, 0, "", ""},
		"a long text":           {[]byte("a" + strings.Repeat("ü", previewText)), 0, text, "a" + strings.Repeat("ü", previewText/2-1)},
		"nothing":               {nil, 0, text, ""},
	} {
		a := mapping.Artifact{Path: "x.png", MIMEType: "image/png", Size: max(one.size, int64(len(one.body)))}
		kind, content, err := preview(&a, bytes.NewReader(one.body))
		if (err == nil) != (one.kind != "") || kind != one.kind {
			t.Errorf("%s: %q, %v", name, kind, err)
		}
		if err != nil {
			continue
		}
		if got, err := io.ReadAll(content); err != nil || string(got) != one.want {
			t.Errorf("%s: %d bytes of %d, %v", name, len(got), len(one.want), err)
		}
	}
}
