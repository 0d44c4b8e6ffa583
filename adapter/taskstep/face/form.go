package face

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"os"
	"strings"
	"syscall"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
)

const (
	relativePath = "relative_path"
	maxParts     = 1000
	maxField     = 4 << 10 // bytes of relative_path
	// maxHeld is how much of a file is kept in memory while its path is not
	// known yet; what is larger goes through a temporary file.
	maxHeld = 1 << 20
)

// TemporaryUploads is the pattern of the names of temporary files that uploads go
// through, in the system's folder for them (os.CreateTemp). One that no process has
// open was left behind.
const TemporaryUploads = "apbridge-upload-*"

// form reads a multipart upload (RFC 7578) part by part, in whatever order the
// parts come.
type form struct {
	body   io.Reader
	parts  *multipart.Reader
	count  int
	folder *string // relative_path, once it was said
	err    error   // why the form cannot be taken; final
}

func newForm(body io.Reader, boundary string) *form {
	return &form{body: body, parts: multipart.NewReader(body, boundary)}
}

// formBoundary refuses everything but multipart/form-data.
func formBoundary(h http.Header) (string, error) {
	media, params, err := mime.ParseMediaType(h.Get("Content-Type"))
	encoding := h.Get("Content-Encoding")
	if err != nil || media != "multipart/form-data" || (encoding != "" && !strings.EqualFold(encoding, "identity")) {
		return "", mapping.Errorf(mapping.Unsupported, mapping.CodeInvalid,
			"An upload must be multipart/form-data, not compressed, with the bytes in a part named file.")
	}
	if params["boundary"] == "" {
		return "", malformed("The Content-Type multipart/form-data has no boundary.")
	}
	return params["boundary"], nil
}

// file finds the file part. When relative_path is known by then, the file is
// streamed; else it is set aside until the rest of the form was read, since
// relative_path may follow.
func (f *form) file(limit int64) (*incoming, error) {
	part, err := f.next()
	if err != nil {
		return nil, err
	}
	if part == nil {
		return nil, f.fail(invalid("body", "file", "a part with a file name and the file's bytes"))
	}
	name, mimeType := fileName(part), part.Header.Get("Content-Type")
	if !mapping.IsText(mimeType) {
		return nil, f.fail(invalid("body", "file", "a part whose Content-Type is UTF-8 without U+0000"))
	}
	up := &incoming{mimeType: mimeType, Reader: &formFile{form: f, part: part}}
	if f.folder == nil {
		if err := f.setAside(up, limit); err != nil {
			up.Close()
			return nil, f.fail(err)
		}
	}
	if up.path, err = uploadPath(name, f.folder); err != nil {
		up.Close()
		return nil, f.fail(err)
	}
	return up, nil
}

// setAside reads the file, and with it the rest of the form, into memory or a
// temporary file.
func (f *form) setAside(up *incoming, limit int64) error {
	src := io.LimitReader(up.Reader, limit+1)
	var held bytes.Buffer
	switch n, err := io.CopyN(&held, src, min(maxHeld, limit)+1); {
	case err != nil && !errors.Is(err, io.EOF):
		return err
	case n > limit:
		return tooLarge(limit)
	case errors.Is(err, io.EOF):
		up.Reader = &held
		return nil
	}
	tmp, err := os.CreateTemp("", TemporaryUploads)
	if err != nil {
		return storageError(err)
	}
	// Without a name the file goes with the process, however that ends. Where an open
	// file keeps its name (Windows), it is removed when it is closed.
	_ = os.Remove(tmp.Name())
	up.close = func() { _, _ = tmp.Close(), os.Remove(tmp.Name()) }
	return spool(up, tmp, io.MultiReader(&held, src), limit)
}

// spool moves src through the temporary file.
func spool(up *incoming, tmp *os.File, src io.Reader, limit int64) error {
	n, err := io.Copy(tmp, src)
	if err == nil && n > limit {
		return tooLarge(limit)
	}
	if err == nil {
		_, err = tmp.Seek(0, io.SeekStart)
	}
	if err != nil {
		return storageError(err)
	}
	up.Reader = tmp
	return nil
}

func storageError(err error) error {
	if errors.Is(err, syscall.ENOSPC) {
		return &mapping.Error{Class: mapping.StorageFull, Code: "storage_full",
			Message: "There is no room for the upload.", Err: err}
	}
	return err
}

// next returns the next file part, nil at the form's end. It takes note of
// relative_path and skips what it does not know.
func (f *form) next() (*multipart.Part, error) {
	for {
		part, err := f.parts.NextPart()
		if err == io.EOF { //nolint:errorlint // a wrapped EOF is a missing end boundary
			return nil, f.end()
		}
		if err == nil {
			if f.count++; f.count > maxParts {
				return nil, f.fail(malformed("The form has more than %d parts.", maxParts))
			}
			if part.FormName() == "file" && fileName(part) != "" {
				return part, nil
			}
			err = f.skip(part)
		}
		if err != nil {
			return nil, f.fail(formError(err))
		}
	}
}

// end reads what follows the closing boundary, an epilogue that is ignored, up to the
// request's own end: a message that breaks off is incomplete, whatever of it has
// come (RFC 9112, section 8).
func (f *form) end() error {
	_, err := io.Copy(io.Discard, f.body)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return f.fail(malformed("The request broke off behind the form: its announced length, or its last chunk, is missing."))
	}
	if err != nil {
		return f.fail(formError(err))
	}
	return nil
}

func (f *form) skip(part *multipart.Part) error {
	if part.FormName() != relativePath {
		_, err := io.Copy(io.Discard, part)
		return err
	}
	value, err := io.ReadAll(io.LimitReader(part, maxField+1))
	if err != nil {
		return err
	}
	folder := string(value)
	switch {
	case len(value) > maxField:
		return invalid("body", relativePath, "4096 bytes or less")
	case f.folder != nil && *f.folder != folder:
		return invalid("body", relativePath, "the same wherever it is said")
	}
	f.folder = &folder
	return nil
}

// rest reads what follows the file.
func (f *form) rest() error {
	part, err := f.next()
	if err == nil && part != nil {
		err = f.fail(malformed("The form has two files. Upload one at a time."))
	}
	return err
}

// fail remembers the first error, since the reader of the file may hide it.
func (f *form) fail(err error) error {
	if f.err == nil {
		f.err = err
	}
	return f.err
}

// formError classifies what broke the reading of a form.
func formError(err error) error {
	var known *mapping.Error
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &known), errors.As(err, &large):
		return err
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return malformed("The form ends without its closing boundary.")
	}
	return malformed("The multipart form cannot be read. See RFC 7578 for its form.")
}

// formFile reads the file's part, then the rest of its form.
type formFile struct {
	form *form
	part *multipart.Part
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
	switch {
	case err == io.EOF: //nolint:errorlint // the part's own end, never wrapped
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

// fileName is the file's name as the client meant it, folders included. Some
// clients percent-encode it, which RFC 7578 section 2 allows; the extended
// form filename* is decoded already.
func fileName(part *multipart.Part) string {
	disposition := part.Header.Get("Content-Disposition")
	_, params, err := mime.ParseMediaType(disposition)
	if err != nil {
		return ""
	}
	name := params["filename"]
	if strings.Contains(strings.ToLower(disposition), "filename*") {
		return name
	}
	return rule.DecodeName(name)
}
