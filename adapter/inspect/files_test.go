package inspect

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/google/go-cmp/cmp"
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

// A run has the versions that it wrote, and for files that it wrote again without a change those of earlier runs.
func TestFilesOfARun(t *testing.T) {
	t.Parallel()
	version := func(n int64, path, run string) adapter.FileVersion {
		return adapter.FileVersion{Artifact: mapping.Artifact{ID: "id of " + path, Path: path}, Version: n, RunID: run}
	}
	versions := []adapter.FileVersion{ // as the service lists them
		version(9, "a.txt", "run 3"), version(5, "a.txt", "run 2"), version(1, "a.txt", "run 1"),
		version(8, "b.txt", "run 3"), version(3, "b.txt", "run 1"), version(2, "b.txt", "run 0"),
		version(7, "c.txt", ""), version(6, "d.txt", "run 3"), version(4, "e.txt", "run 1"),
	}
	var got []int64
	for _, v := range versionsOf("run 2", []string{"id of a.txt", "id of b.txt", "id of c.txt", "id of d.txt"}, versions) {
		got = append(got, v.Version)
	}
	if diff := cmp.Diff([]int64{5, 3}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A file in a message has the version at the path of its name.
func TestFilesOfMessagesHaveVersions(t *testing.T) {
	t.Parallel()
	turns := []turn{{Files: []fileLink{{Name: "a.png"}, {Name: "b.png", Link: "https://x.example/b.png"}}}}
	others := attach(turns, []adapter.FileVersion{{Artifact: mapping.Artifact{Path: "a.png"}, Version: 7}, {Artifact: mapping.Artifact{Path: "b.png"}, Version: 8}})
	if f := turns[0].Files[0].File; f == nil || f.Version != 7 || f.Preview != "image" || turns[0].Files[1].File != nil || len(others) != 1 || others[0].Version != 8 {
		t.Errorf("%+v, others %v", turns[0].Files, others)
	}
}
