package face

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/body"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/google/go-cmp/cmp"
)

// inMemory is the maximum size of a file that package body keeps in memory.
const inMemory = 1 << 20

const (
	boundary = "frontier"
	formType = "multipart/form-data; boundary=" + boundary
)

// Parts of a form, as clients write them.
func filePart(filename, content string) string {
	return "--" + boundary + "\r\nContent-Disposition: form-data; name=\"file\"; " + filename +
		"\r\nContent-Type: text/plain\r\n\r\n" + content + "\r\n"
}

func fieldPart(name, value string) string {
	return "--" + boundary + "\r\nContent-Disposition: form-data; name=\"" + name + "\"\r\n\r\n" + value + "\r\n"
}

const closing = "--" + boundary + "--\r\n"

// TestUploadPaths covers every way to name the path of an upload.
func TestUploadPaths(t *testing.T) {
	t.Parallel()
	s := serve(t, newFake())
	named := func(name string) string { return filePart(`filename="`+name+`"`, "x") }
	rel := func(value string) string { return fieldPart("relative_path", value) }
	for _, c := range []struct{ what, query, form, path string }{
		{"root", "", named("a.txt"), "a.txt"},
		{"folder first", "", rel("src") + named("a.txt"), "src/a.txt"},
		{"folder last", "", named("a.txt") + rel("src"), "src/a.txt"},
		{"folder with slash", "", rel("python/code/") + named("a.txt"), "python/code/a.txt"},
		{"whole path", "", rel("src/a.txt") + named("a.txt"), "src/a.txt"},
		{"whole path last", "", named("a.txt") + rel("src/a.txt"), "src/a.txt"},
		{"dot", "", rel(".") + named("a.txt"), "a.txt"},
		{"dot slash", "", rel("./src") + named("a.txt"), "src/a.txt"},
		{"empty", "", rel("") + named("a.txt"), "a.txt"},
		{"query", "?relative_path=src", named("a.txt"), "src/a.txt"},
		{"query, encoded", "?relative_path=s%C3%BC%2Fd", named("a.txt"), "sü/d/a.txt"},
		{"query and the same field", "?relative_path=src", named("a.txt") + rel("src"), "src/a.txt"},
		{"said twice", "", rel("src") + rel("src") + named("a.txt"), "src/a.txt"},
		{"further fields", "", fieldPart("x", "y") + rel("src") + fieldPart("z", "") + named("a.txt") + fieldPart("file", "no file"), "src/a.txt"},
		{"folder of the file's name", "", rel("a/") + named("a"), "a/a"},
		{"name with folders", "", named("src/a.txt"), "src/a.txt"},
		{"percent-encoded", "", named("hello%20w%C3%B6rld.txt"), "hello wörld.txt"},
		{"not surely percent-encoded", "", named("a%20b.txt"), "a%20b.txt"},
		{"quotes of a browser", "", named("a%22b%22.txt"), `a"b".txt`},
		{"raw UTF-8", "", named("né ü.txt"), "né ü.txt"},
		{"percent that encodes nothing", "", named("100%.txt"), "100%.txt"},
		{"percent that is no UTF-8", "", named("a%ff.txt"), "a%ff.txt"},
		{"extended form", "", filePart(`filename="a.txt"; filename*=UTF-8''%E2%82%AC%2520.txt`, "x"), "€%20.txt"},
		{"quotes", "", filePart(`filename="a\"b.txt"`, "x"), `a"b.txt`},
		{"unquoted", "", filePart(`filename=a.txt`, "x"), "a.txt"},
		{"dotfile", "", named(".env"), ".env"},
	} {
		t.Run(c.what, func(t *testing.T) {
			task := s.newTask("hi")
			a := s.do("POST", task+"/artifacts"+c.query, formType, c.form+closing)
			id := a.field(t, "artifact_id")
			if got := s.pathOf(id); got != c.path {
				t.Errorf("stored as %q, want %q", got, c.path)
			}
			if got := s.do("GET", task+"/artifacts/"+id, "", ""); got.body != "x" {
				t.Errorf("got %q back", got.body)
			}
		})
	}
}

func (f *fake) pathOf(id string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, t := range f.tasks {
		for _, a := range t.task.Artifacts {
			if a.ID == id {
				return a.Path
			}
		}
	}
	return ""
}

func TestUploadRefusals(t *testing.T) {
	t.Parallel()
	s := serve(t, newFake())
	task := s.newTask("hi")
	before := s.written()
	file := filePart(`filename="a.txt"`, "x")
	rel := func(value string) string { return fieldPart("relative_path", value) }
	named := func(name string) string { return filePart(`filename="`+name+`"`, "x") }
	large := filePart(`filename="a.txt"`, strings.Repeat("x", 1<<20+1))
	for _, c := range []struct {
		what, contentType, body string
		status                  int
	}{
		{"no body", formType, "", 422},
		{"a type that is no UTF-8", formType, strings.Replace(file, "text/plain", "text/\xff", 1) + closing, 422},
		{"no parts", formType, closing, 422},
		{"no file part", formType, rel("src") + closing, 422},
		{"file without a name", formType, fieldPart("file", "x") + closing, 422},
		{"file with an empty name", formType, named("") + closing, 422},
		{"file under another name", formType, strings.Replace(file, `name="file"`, `name="f"`, 1) + closing, 422},
		{"no closing boundary", formType, file, 422},
		{"no closing boundary, path known", formType, rel("src") + file, 422},
		{"cut in the file", formType, rel("src") + file[:len(file)-3], 422},
		{"cut in the headers", formType, file[:40], 422},
		{"another boundary", formType, strings.ReplaceAll(file+closing, boundary, "other"), 422},
		{"two files", formType, file + file + closing, 422},
		{"two files, path known", formType, rel("") + file + file + closing, 422},
		{"two folders", formType, rel("a") + file + rel("b") + closing, 422},
		{"two folders before", formType, rel("a") + rel("b") + file + closing, 422},
		{"long folder", formType, rel(strings.Repeat("a/", 3000)) + file + closing, 422},
		{"long name", formType, named(strings.Repeat("a", 1100)) + closing, 422},
		{"1001 parts", formType, strings.Repeat(fieldPart("x", ""), 1000) + file + closing, 422},
		{"1001 parts behind the file", formType, rel("") + file + strings.Repeat(fieldPart("x", ""), 1000) + closing, 422},

		{"parent", formType, named("../x") + closing, 422},
		{"parent, encoded", formType, named("..%2F..%2Fx") + closing, 422},
		{"parent as folder", formType, rel("../..") + file + closing, 422},
		{"parent as folder, last", formType, file + rel("../..") + closing, 422},
		{"parent within", formType, rel("a/../../b") + file + closing, 422},
		{"absolute", formType, named("/etc/passwd") + closing, 422},
		{"absolute, encoded", formType, named("%2Fetc%2Fpasswd") + closing, 422},
		{"absolute, extended form", formType, filePart(`filename*=UTF-8''%2Fetc%2Fpasswd`, "x") + closing, 422},
		{"absolute folder", formType, rel("/etc") + named("passwd") + closing, 422},
		{"drive", formType, named(`C:\x`) + closing, 422},
		{"drive folder", formType, rel("C:") + file + closing, 422},
		{"backslash", formType, named(`..\x`) + closing, 422},
		{"NUL", formType, named("a%00.txt") + closing, 422},
		{"line break", formType, named("a%0Ab.txt") + closing, 422},
		{"device", formType, named("NUL") + closing, 422},
		{"device with extension", formType, rel("src") + named("com1.txt") + closing, 422},

		{"too large", formType, large + closing, 413},
		{"too large, path known", formType, rel("src") + large + closing, 413},
		{"far too large", formType, filePart(`filename="a"`, strings.Repeat("x", 3<<20)) + closing, 413},

		{"no type", "", file + closing, 415},
		{"JSON", plain, `{"file":"x"}`, 415},
		{"bytes", "application/octet-stream", "x", 415},
		{"multipart/mixed", "multipart/mixed; boundary=" + boundary, file + closing, 415},
		{"no boundary named", "multipart/form-data", file + closing, 422},
	} {
		t.Run(c.what, func(t *testing.T) {
			a := s.do("POST", task+"/artifacts", c.contentType, c.body)
			if a.status != c.status {
				t.Fatalf("got %d %s, want %d", a.status, a.body, c.status)
			}
			checkRefused(t, s, a, before)
			if code := map[int]string{413: "artifact_too_large", 415: "unsupported_content_type", 422: "invalid_request"}[c.status]; !strings.Contains(a.body, `"code":"`+code+`"`) {
				t.Errorf("got %s, want the code %s", a.body, code)
			}
		})
	}
}

func TestUploadToUnknownTask(t *testing.T) {
	t.Parallel()
	s := serve(t, newFake())
	a := s.do("POST", v1Path+"/tasks/nothing/artifacts", formType, filePart(`filename="a"`, "x")+closing)
	if a.status != 404 || s.written() != 0 {
		t.Errorf("got %d %s", a.status, a.body)
	}
	checkOnlyMessage(t, "upload", a)
}

// Files of every size class, with the path known before or only after them, keep their bytes and leave no temporary
// file.
func TestUploadsAreByteExact(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	f := newFake()
	f.maxFile = 4 << 20
	s := serve(t, f)
	task := s.newTask("hi")
	for _, size := range []int{0, 1, inMemory - 1, inMemory, inMemory + 1, 3 << 20, 4 << 20} {
		content := make([]byte, size)
		for i := range content {
			content[i] = byte(i*7 + i>>8)
		}
		for _, query := range []string{"", "?relative_path=src"} {
			body, contentType := encodeForm(t, content)
			id := s.do("POST", task+"/artifacts"+query, contentType, body).field(t, "artifact_id")
			got := s.do("GET", task+"/artifacts/"+id, "", "")
			if !bytes.Equal([]byte(got.body), content) || got.header.Get("Content-Length") != fmt.Sprint(size) {
				t.Errorf("%d bytes%s: got %d bytes back", size, query, len(got.body))
			}
		}
	}
	body, contentType := encodeForm(t, make([]byte, 4<<20+1))
	if a := s.do("POST", task+"/artifacts", contentType, body); a.status != 413 {
		t.Errorf("over the limit: got %d", a.status)
	}
	if left, _ := filepath.Glob(filepath.Join(tmp, "*")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func encodeForm(t *testing.T, content []byte) (body, contentType string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	part, err := w.CreateFormFile("file", "a.bin")
	if err == nil {
		_, err = part.Write(content)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.String(), w.FormDataContentType()
}

func TestRelativePathInResponses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		path           string
		folders        bool
		name, relative string
	}{
		{"a.txt", false, `"a.txt"`, `null`},
		{"a.txt", true, `"a.txt"`, `null`},
		{"src/app.py", false, `"app.py"`, `"src/app.py"`},
		{"src/app.py", true, `"app.py"`, `"src/"`},
		{"a/b/ü.py", false, `"ü.py"`, `"a/b/ü.py"`},
		{"a/b/ü.py", true, `"ü.py"`, `"a/b/"`},
	} {
		got := string(written(layout{folders: c.folders}.artifact, &mapping.Artifact{ID: "i", Path: c.path}))
		want := `{"artifact_id":"i","agent_created":false,"file_name":` + c.name + `,"relative_path":` + c.relative + `}`
		if got != want {
			t.Errorf("%s: got %s, want %s", c.path, got, want)
		}
	}
}

func TestDownloadHeaders(t *testing.T) {
	t.Parallel()
	s := serve(t, newFake())
	task := s.newTask("hi")
	id := s.do("POST", task+"/artifacts", formType, filePart(`filename="né \"A;.html"`, "<script>")+closing).field(t, "artifact_id")
	for _, method := range []string{"GET", "HEAD"} {
		a := s.do(method, task+"/artifacts/"+id, plain, "")
		got := map[string]string{}
		for _, name := range []string{"Content-Type", "Content-Length", "Content-Disposition", "X-Content-Type-Options", "Content-Security-Policy"} {
			got[name] = a.header.Get(name)
		}
		want := map[string]string{
			"Content-Type":            "application/octet-stream",
			"Content-Length":          "8",
			"Content-Disposition":     `attachment; filename="n_ _A;.html"; filename*=UTF-8''n%C3%A9%20%22A%3B.html`,
			"X-Content-Type-Options":  "nosniff",
			"Content-Security-Policy": "sandbox",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", method, diff)
		}
	}
}

// half is a file that cannot be read to its end.
type half struct{ *strings.Reader }

func (h half) Read(p []byte) (int, error) {
	if h.Len() < 6 {
		return 0, errors.New("the rest is gone")
	}
	return h.Reader.Read(p[:min(len(p), 5)])
}

// A broken download continues at its position, unless the file has changed.
func TestDownloadResumes(t *testing.T) {
	t.Parallel()
	s := serve(t, newFake())
	task := s.newTask("hi")
	id := s.do("POST", task+"/artifacts", formType, filePart(`filename="a"`, "0123456789")+closing).field(t, "artifact_id")
	get := func(asked, unless string) (*http.Response, string) {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+task+"/artifacts/"+id, http.NoBody)
		req.Header.Set("Range", asked)
		req.Header.Set("If-Range", unless)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res, string(body)
	}
	first, _ := get("bytes=0-3", "")
	tag := first.Header.Get("ETag")
	if res, body := get("bytes=4-", tag); res.StatusCode != http.StatusPartialContent || body != "456789" || res.Header.Get("Content-Range") != "bytes 4-9/10" {
		t.Errorf("the rest: %s %v %q", res.Status, res.Header, body)
	}
	if res, body := get("bytes=10-", tag); res.StatusCode != http.StatusRequestedRangeNotSatisfiable || res.Header.Get("Content-Range") != "bytes */10" ||
		!strings.HasPrefix(res.Header.Get("Content-Type"), "application/json") || !strings.Contains(body, `"code":"invalid_request"`) || res.Header.Get("Content-Disposition") != "" {
		t.Errorf("behind the end: %s %v %s", res.Status, res.Header, body)
	}
	s.do("POST", task+"/artifacts", formType, filePart(`filename="a"`, "other bytes")+closing)
	if res, body := get("bytes=4-", tag); res.StatusCode != http.StatusOK || body != "other bytes" {
		t.Errorf("of other bytes: %s %q", res.Status, body)
	}
}

// After the first byte, an error can only break the connection, so that the client does not mistake the part for the
// whole.
func TestBrokenDownloadIsNoticed(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.onOpen = func() io.ReadSeeker { return half{strings.NewReader("whole file")} }
	s := serve(t, f)
	task := s.newTask("hi")
	id := s.do("POST", task+"/artifacts", formType, filePart(`filename="a"`, "whole file")+closing).field(t, "artifact_id")
	res, err := http.Get(s.url + task + "/artifacts/" + id)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if b, err := io.ReadAll(res.Body); err == nil {
		t.Errorf("got %q as a whole", b)
	}
}

func FuzzUpload(f *testing.F) {
	for _, c := range [][2]string{
		{`form-data; name="file"; filename="a.txt"`, "src"},
		{`form-data; name="file"; filename="..%2f..%2fx"`, ""},
		{`form-data; name="file"; filename*=UTF-8''%2Fetc%2Fpasswd`, "../x"},
		{`form-data; name="file"; filename="C:\\x"`, "/"},
		{`form-data; name=file; filename=NUL.txt`, "a/../b"},
		{"form-data; name=\"file\"; filename=\"\xff\x00\"", "\x00"},
	} {
		f.Add(c[0], c[1])
	}
	f.Fuzz(func(t *testing.T, disposition, relative string) {
		var b bytes.Buffer
		w := multipart.NewWriter(&b)
		part, _ := w.CreatePart(textproto.MIMEHeader{"Content-Disposition": {disposition}})
		_, _ = part.Write([]byte("x"))
		_ = w.WriteField(relativePath, relative)
		_ = w.Close()
		r := httptest.NewRequest(http.MethodPost, "/", &b)
		r.Header.Set("Content-Type", w.FormDataContentType())
		form, err := body.OpenForm(httptest.NewRecorder(), r, uploadParts(1<<10))
		if err != nil {
			t.Fatal(err)
		}
		up, path, err := incoming(form)
		if err != nil {
			return
		}
		defer up.Close()
		clean, err := rule.CleanPath(path)
		if err != nil || clean != path || filepath.IsAbs(path) || !filepath.IsLocal(path) {
			t.Errorf("%q with %q became %q", disposition, relative, path)
		}
		if header := attachment(path); strings.ContainsAny(header, "\r\n\x00") || !plainHeader(header) {
			t.Errorf("%q makes the header %q", path, header)
		}
	})
}

func plainHeader(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r > '~' || r < ' ' }) < 0
}

// A download has the same name as its upload.
func FuzzAttachment(f *testing.F) {
	f.Add("a.txt")
	f.Add("né \"%41;.html")
	f.Fuzz(func(t *testing.T, name string) {
		header := attachment(name)
		_, extended, found := strings.Cut(header, "filename*=UTF-8''")
		if back, err := url.PathUnescape(extended); !found || err != nil || back != name || !plainHeader(header) {
			t.Errorf("%q makes %q", name, header)
		}
	})
}
