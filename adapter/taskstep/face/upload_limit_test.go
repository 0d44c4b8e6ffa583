package face

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// forever is a form that begins with head and repeats again, up to most bytes. It counts the bytes read.
type forever struct {
	rest, again string
	most, taken int64
}

func (f *forever) Read(p []byte) (int, error) {
	if f.taken >= f.most {
		return 0, io.EOF
	}
	if f.rest == "" {
		f.rest = f.again
	}
	n := copy(p, f.rest)
	f.rest, f.taken = f.rest[n:], f.taken+int64(n)
	return n, nil
}

// TestOversizedForms checks that oversized forms are refused before they are read.
func TestOversizedForms(t *testing.T) {
	t.Parallel()
	const most = 100 << 20
	s := serve(t, newFake()) // files of 1 MiB at most
	task := s.newTask("hi")
	before := s.written()
	file := filePart(`filename="a.txt"`, "x")
	open := strings.TrimSuffix(file, "x\r\n")
	field := fieldPart("x", strings.Repeat("y", 900))
	for _, c := range []struct {
		what, head, again string
		statuses          []int
	}{
		{"100,000 parts", "", field, []int{422}},
		{"100,000 parts behind the file", file, field, []int{422}},
		{"100,000 empty parts", "", "--" + boundary + "\r\n\r\n\r\n", []int{422}},
		{"100,000 relative paths", "", fieldPart("relative_path", "src"), []int{422}},
		{"a file without end", open, strings.Repeat("x", 1000), []int{413}},
		{"a file without end, path known", fieldPart("relative_path", "src") + open, strings.Repeat("x", 1000), []int{413}},
		{"a field without end", strings.TrimSuffix(fieldPart("x", ""), "\r\n"), strings.Repeat("x", 1000), []int{413}},
		{"a part's headers without end", "--" + boundary + "\r\n", "X-Y: " + strings.Repeat("z", 990) + "\r\n", []int{413, 422}},
		{"a header line without end", "--" + boundary + "\r\nX-Y: ", strings.Repeat("z", 1000), []int{413, 422}},
		{"no boundary ever", "", strings.Repeat("z", 1000), []int{413, 422}},
	} {
		t.Run(c.what, func(t *testing.T) {
			body := &forever{rest: c.head, again: c.again, most: most}
			w := httptest.NewRecorder()
			r := httptest.NewRequest(http.MethodPost, task+"/artifacts", body)
			r.Header.Set("Content-Type", formType)
			faceOver(t, s.fake).ServeHTTP(w, r)
			if !slices.Contains(c.statuses, w.Code) {
				t.Errorf("got %d %s, want one of %d", w.Code, w.Body, c.statuses)
			}
			if body.taken > 4<<20 {
				t.Errorf("%d bytes of a refused body were read", body.taken)
			}
			checkRefused(t, s, gotten{status: w.Code, header: w.Header(), body: w.Body.String()}, before)
		})
	}
}
