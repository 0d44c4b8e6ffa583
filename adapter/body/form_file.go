package body

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/apbridge/apbridge/mapping"
)

// maxHeld is the maximum number of bytes of a file kept in memory while the field is unknown. Larger files are stored
// in a temporary file.
const maxHeld = 1 << 20

// TemporaryUploads is the pattern for the names of temporary files of uploads in the system's temporary folder
// (os.CreateTemp). A file that no process has open is a leftover.
const TemporaryUploads = "apbridge-upload-*"

// File is the file of a form, to be read once. Read returns io.EOF only after the rest of the form has been read and
// found valid.
type File struct {
	Name string // as meant by the client, including folders; not sanitized
	Type string // as sent by the client; may be empty
	io.Reader
	close func()
}

// Close removes the temporary file, if any.
func (u *File) Close() {
	if u.close != nil {
		u.close()
	}
}

// setAside reads the file and the rest of the form into memory or a temporary file.
func (u *File) setAside() error {
	src, held := u.Reader, new(bytes.Buffer)
	switch _, err := io.CopyN(held, src, maxHeld+1); {
	case errors.Is(err, io.EOF):
		u.Reader = held
		return nil
	case err != nil:
		return err
	}
	tmp, err := os.CreateTemp("", TemporaryUploads)
	if err != nil {
		return storageError(err)
	}
	// An unlinked file disappears with the process, however it ends. On Windows an open file cannot be removed; it is
	// removed when it is closed.
	_ = os.Remove(tmp.Name())
	u.close = func() { _, _ = tmp.Close(), os.Remove(tmp.Name()) }
	return u.spool(tmp, io.MultiReader(held, src))
}

// spool copies src to the temporary file, which becomes the reader.
func (u *File) spool(tmp *os.File, src io.Reader) error {
	_, err := io.Copy(tmp, src)
	if err == nil {
		_, err = tmp.Seek(0, io.SeekStart)
	}
	if err != nil {
		return storageError(err)
	}
	u.Reader = tmp
	return nil
}

func storageError(err error) error {
	if errors.Is(err, syscall.ENOSPC) {
		return &mapping.Error{Class: mapping.StorageFull, Code: "storage_full",
			Message: "There is not enough disk space for the upload.", Err: err}
	}
	return err
}

// formFile reads the file's part, then the rest of its form.
type formFile struct {
	form *Form
	part *multipart.Part
	left int64 // bytes that may still follow
	done bool
}

func (r *formFile) Read(p []byte) (int, error) {
	if r.form.err != nil {
		return 0, r.form.err
	}
	if r.done {
		return 0, io.EOF
	}
	n, err := r.part.Read(p)
	if r.left -= int64(n); r.left < 0 {
		return 0, r.form.fail(UploadTooLarge(r.form.of.Most))
	}
	switch {
	case err == io.EOF: //nolint:errorlint // the end of the part, never wrapped
		r.done = true
		if err := r.form.rest(); err != nil {
			return n, err
		}
		return n, io.EOF
	case err != nil:
		return n, r.form.fail(formError(err))
	}
	return n, nil
}

// fileName returns the file's name as meant by the client, including folders. mime.ParseMediaType has already decoded
// filename*.
func (f *Form) fileName(part *multipart.Part) string {
	disposition := part.Header.Get("Content-Disposition")
	_, params, err := mime.ParseMediaType(disposition)
	if err != nil {
		return ""
	}
	name := params["filename"]
	if strings.Contains(strings.ToLower(disposition), "filename*") {
		return name
	}
	if f.encodes {
		if decoded, err := url.PathUnescape(name); err == nil && utf8.ValidString(decoded) {
			return decoded
		}
	}
	return decodedName(name)
}

// encodesNames reports whether a client with this User-Agent percent-encodes every file name. aiohttp does. So do the
// Python clients of the Agent Protocol v1 that OpenAPI Generator produced for aiohttp; agbenchmark uses one.
func encodesNames(userAgent string) bool {
	return strings.Contains(userAgent, "aiohttp/") || strings.HasPrefix(userAgent, "OpenAPI-Generator/") && strings.HasSuffix(userAgent, "/python")
}

var (
	escape         = regexp.MustCompile(`%[0-9A-Fa-f]{2}`)
	browserEscapes = strings.NewReplacer("%22", `"`, "%0D", "\r", "%0d", "\r", "%0A", "\n", "%0a", "\n")
)

// decodedName decodes a name only if the client has certainly encoded it, because a file may be named a%20b.txt.
// Browsers encode only quotes and line breaks (HTML Standard section 4.10.21.8). Some other clients percent-encode the
// whole name, as RFC 7578 section 2 allows. A name is certainly encoded if decoding it yields characters beyond ASCII.
func decodedName(name string) string {
	if !slices.ContainsFunc(escape.FindAllString(name, -1), func(e string) bool { return browserEscapes.Replace(e) == e }) {
		return browserEscapes.Replace(name)
	}
	decoded, err := url.PathUnescape(name)
	if err != nil || !isASCII(name) || isASCII(decoded) || !utf8.ValidString(decoded) {
		return name
	}
	return decoded
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf })
}
