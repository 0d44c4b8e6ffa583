package body

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/mapping"
)

const boundary = "frontier"

// partsOf returns the parts of a dialect's form with files of up to most bytes.
func partsOf(most int64) FormParts {
	return FormParts{File: "file", Field: "about", Most: most, Invalid: func(part, what string) error {
		return mapping.Invalidf("%s must be %s.", part, what)
	}}
}

// filePart and fieldPart return parts of a form as clients write them.
func filePart(filename, content string) string {
	return "--" + boundary + "\r\nContent-Disposition: form-data; name=\"file\"; " + filename +
		"\r\nContent-Type: text/plain\r\n\r\n" + content + "\r\n"
}

func fieldPart(name, value string) string {
	return "--" + boundary + "\r\nContent-Disposition: form-data; name=\"" + name + "\"\r\n\r\n" + value + "\r\n"
}

const closing = "--" + boundary + "--\r\n"

// readForm reads a complete form, as a face does.
func readForm(f *Form) (name, field string, content []byte, err error) {
	up, err := f.File()
	if err != nil {
		return "", "", nil, err
	}
	defer up.Close()
	content, err = io.ReadAll(up)
	if f.Err() != nil {
		err = f.Err()
	}
	return up.Name, f.Field(), content, err
}

func TestForms(t *testing.T) {
	t.Parallel()
	file, about := filePart(`filename="a.txt"`, "x"), func(v string) string { return fieldPart("about", v) }
	for _, c := range []struct {
		sent  string
		want  string // name, field and content; or a part of the problem
		class mapping.Class
	}{
		{file + closing, "a.txt||x", ""},
		{about("f") + file + closing, "a.txt|f|x", ""},
		{file + about("f") + closing, "a.txt|f|x", ""},
		{about("f") + file + about("f") + fieldPart("z", "") + closing + "epilogue", "a.txt|f|x", ""},
		{filePart(`filename="d%2F%C3%BC.txt"`, "") + closing, "d/ü.txt||", ""},
		{filePart(`filename="a.txt"; filename*=UTF-8''%E2%82%AC%2520`, "x") + closing, "€%20||x", ""},
		{closing, "file must be a part with a file name", mapping.Invalid},
		{fieldPart("file", "x") + closing, "file must be a part with a file name", mapping.Invalid},
		{strings.Replace(file, "text/plain", "text/\xff", 1) + closing, "file must be a part whose Content-Type is UTF-8", mapping.Invalid},
		{about("f") + file + about("g") + closing, "about must be the same", mapping.Invalid},
		{about(strings.Repeat("x", maxField+1)) + file + closing, "about must be 4096 bytes or less", mapping.Invalid},
		{file + file + closing, "two files", mapping.Malformed},
		{file, "without its closing boundary", mapping.Malformed},
		{file[:len(file)-3], "without its closing boundary", mapping.Malformed},
		{strings.Repeat(fieldPart("x", ""), maxParts) + file + closing, "more than 1000 parts", mapping.Malformed},
		{filePart(`filename="a"`, strings.Repeat("x", 101)) + closing, "larger than 100 bytes, the limit of limits.artifact", mapping.TooLarge},
		{about("f") + filePart(`filename="a"`, strings.Repeat("x", 101)) + closing, "larger than 100 bytes", mapping.TooLarge},
		{about("f") + filePart(`filename="a"`, strings.Repeat("x", 100)) + closing, "a|f|" + strings.Repeat("x", 100), ""},
	} {
		name, field, content, err := readForm(newForm(strings.NewReader(c.sent), boundary, partsOf(100)))
		got := fmt.Sprintf("%s|%s|%s", name, field, content)
		if err != nil {
			got = mapping.Classify(err).Message
		}
		if c.class == "" && (err != nil || got != c.want) || c.class != "" && (mapping.Classify(err).Class != c.class || !strings.Contains(got, c.want)) {
			t.Errorf("%.200q: %s, %v; want %s", c.sent, got, err, c.want)
		}
	}
}

// These forms are refused before any of the body is read.
func TestFormsThatAreNotOpened(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		contentType, encoding string
		length                int64
		class                 mapping.Class
	}{
		{"multipart/form-data; boundary=b", "", 10, ""},
		{"multipart/form-data; boundary=b; charset=utf-8", "identity", 10, ""},
		{"multipart/form-data; boundary=b; charset=latin1", "", 10, ""},
		{"multipart/form-data; boundary=b", "gzip", 10, mapping.Unsupported},
		{"multipart/mixed; boundary=b", "", 10, mapping.Unsupported},
		{"application/json", "", 10, mapping.Unsupported},
		{"", "", 10, mapping.Unsupported},
		{"multipart/form-data", "", 10, mapping.Malformed},
		{"multipart/form-data; boundary=b", "", 100 + FormOverhead + 1, mapping.TooLarge},
	} {
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader("x"))
		r.ContentLength = c.length
		r.Header.Set("Content-Type", c.contentType)
		r.Header.Set("Content-Encoding", c.encoding)
		if _, err := OpenForm(httptest.NewRecorder(), r, partsOf(100)); (err == nil) != (c.class == "") || err != nil && mapping.Classify(err).Class != c.class {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// If the field is already known, the reader gets the file's bytes while the client is still sending.
func TestUploadsAreStreamed(t *testing.T) {
	t.Parallel()
	in, out := io.Pipe()
	f := newForm(in, boundary, partsOf(1<<20))
	f.SetField("")
	go func() {
		_, _ = io.WriteString(out, strings.TrimSuffix(filePart(`filename="a"`, "first piece"), "\r\n")+strings.Repeat("x", 8<<10))
	}()
	up, err := f.File()
	if err != nil {
		t.Fatal(err)
	}
	piece := make([]byte, len("first piece"))
	if _, err := io.ReadFull(up, piece); err != nil || string(piece) != "first piece" {
		t.Errorf("got %q, %v", piece, err)
	}
	out.CloseWithError(io.ErrUnexpectedEOF)
	if _, err := io.Copy(io.Discard, up); err == nil || f.Err() == nil {
		t.Error("an incomplete form was accepted")
	}
}

// watched calls look before it returns io.EOF.
type watched struct {
	io.Reader
	look func()
}

func (w watched) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p)
	if err != nil {
		w.look()
	}
	return n, err
}

// TestTemporaryFileHasNoName checks that a killed process leaves no temporary file.
func TestTemporaryFileHasNoName(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("an open file keeps its name on Windows; the next start deletes it")
	}
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	looked := false
	body := watched{strings.NewReader(filePart(`filename="a.txt"`, strings.Repeat("x", 2*maxHeld)) + closing), func() {
		looked = true
		if left, _ := filepath.Glob(filepath.Join(tmp, "*")); len(left) != 0 {
			t.Errorf("temporary files while the form is read: %v", left)
		}
	}}
	up, err := newForm(body, boundary, partsOf(4*maxHeld)).File()
	if err != nil || !looked {
		t.Fatal(looked, err)
	}
	defer up.Close()
	if _, through := up.Reader.(*os.File); !through {
		t.Errorf("the upload is held in a %T", up.Reader)
	}
	if n, err := io.Copy(io.Discard, up); n != 2*maxHeld || err != nil {
		t.Errorf("%d bytes, %v", n, err)
	}
}

func TestDecodedName(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain": "plain", "a+b": "a+b", "50%": "50%", "%zz": "%zz", "%ff": "%ff",
		// Characters beyond ASCII: the client encodes.
		"hello%20w%C3%B6rld.txt": "hello wörld.txt", "d%2F%C3%BC.txt": "d/ü.txt", "e%CC%81%25.txt": "e\u0301%.txt", "%F0%9F%93%84": "\U0001F4C4",
		// Browsers encode only quotes and line breaks.
		"a%22b%22.txt": `a"b".txt`, "a%0D%0Ab": "a\r\nb", "a%0d%0ab": "a\r\nb", "50% off%22": `50% off"`, "ü%22": `ü"`,
		// Ambiguous: either the file has this name, or the client encodes.
		"a%20b.txt": "a%20b.txt", "100%25": "100%25", "%2e%2e%2fx": "%2e%2e%2fx", "a%20b%22": "a%20b%22", "%2522": "%2522", "ü%20": "ü%20", "ü%C3%BC": "ü%C3%BC",
	} {
		if got := decodedName(in); got != want {
			t.Errorf("decodedName(%q) = %q, want %q", in, got, want)
		}
	}
}

// A file may be named a%20b.txt, unless the client is known to encode every name.
func TestNamesOfClientsThatEncodeThem(t *testing.T) {
	t.Parallel()
	for agent, want := range map[string]string{
		"Python/3.12 aiohttp/3.9.1":      "a b.txt",
		"OpenAPI-Generator/1.1.0/python": "a b.txt",
		"OpenAPI-Generator/1.1.0/go":     "a%20b.txt",
		"python-requests/2.32":           "a%20b.txt",
		"":                               "a%20b.txt",
	} {
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(filePart(`filename="a%20b.txt"`, "x")+closing))
		r.Header.Set("Content-Type", "multipart/form-data; boundary="+boundary)
		r.Header.Set("User-Agent", agent)
		f, err := OpenForm(httptest.NewRecorder(), r, partsOf(100))
		if err != nil {
			t.Fatal(err)
		}
		if name, _, _, err := readForm(f); err != nil || name != want {
			t.Errorf("%q: %q, %v; want %q", agent, name, err, want)
		}
	}
}

// FuzzForm checks that any input is either refused or also accepted by the standard library's reader with the same
// file.
func FuzzForm(f *testing.F) {
	file := filePart(`filename="a.txt"`, "x")
	for _, s := range []string{
		file + closing, fieldPart("about", "f") + file + closing, file + fieldPart("about", "f") + closing, file + file + closing, file, closing, "",
		filePart(`filename="%2e%2e"; filename*=UTF-8''%ff`, "x") + closing, "--" + boundary + "\n\n\n--" + boundary + "--",
	} {
		f.Add([]byte(s), false)
		f.Add([]byte(s), true)
	}
	f.Fuzz(func(t *testing.T, sent []byte, known bool) {
		form := newForm(bytes.NewReader(sent), boundary, partsOf(100))
		if known {
			form.SetField("f")
		}
		_, _, content, err := readForm(form)
		if err != nil {
			if _, ok := errors.AsType[*mapping.Error](err); !ok {
				t.Errorf("%q: %v", sent, err)
			}
			return
		}
		if want, err := fileOf(sent); err != nil || !bytes.Equal(content, want) || len(content) > 100 {
			t.Errorf("%q is accepted with the file %q, want %q, %v", sent, content, want, err)
		}
	})
}

// fileOf returns the only file of a form.
func fileOf(sent []byte) ([]byte, error) {
	parts := multipart.NewReader(bytes.NewReader(sent), boundary)
	var file []byte
	for n := 0; ; {
		part, err := parts.NextPart()
		if err == io.EOF && n == 1 { //nolint:errorlint // a wrapped EOF is a missing end boundary
			return file, nil
		}
		if err != nil {
			return nil, err
		}
		content, err := io.ReadAll(part)
		if err != nil {
			return nil, err
		}
		if part.FormName() == "file" && new(Form).fileName(part) != "" {
			file, n = content, n+1
		}
	}
}
