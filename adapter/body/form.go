package body

import (
	"errors"
	"io"
	"mime/multipart"
	"net/http"

	"github.com/apbridge/apbridge/mapping"
)

const (
	maxParts = 1000
	maxField = 4 << 10 // bytes of the field
)

// FormOverhead is what a form may be longer than its file: boundaries, part headers, further fields.
const FormOverhead = 1 << 20

// FormParts are what a dialect calls the parts of an upload.
type FormParts struct {
	File  string // has the bytes
	Field string // says something about the file, before it or behind it
	Most  int64  // bytes of the file: limits.artifact
	// Invalid is the complaint about a part; what completes the sentence "<part> must be …".
	Invalid func(part, what string) error
}

// Form reads a multipart upload (RFC 7578) of one file part by part, in whatever order the parts come. Parts that it
// does not know are left alone.
type Form struct {
	of    FormParts
	body  io.Reader
	parts *multipart.Reader
	count int
	field *string // once it was said
	err   error   // why the form cannot be taken; final

	encodes bool // the client percent-encodes every file name
}

// OpenForm checks what can be checked before the body is read.
func OpenForm(w http.ResponseWriter, r *http.Request, of FormParts) (*Form, error) {
	params, err := checkKind(r.Header, typeForm)
	if err != nil {
		return nil, err
	}
	if params["boundary"] == "" {
		return nil, malformed("The Content-Type %s has no boundary.", typeForm)
	}
	if r.ContentLength > of.Most+FormOverhead {
		return nil, UploadTooLarge(of.Most)
	}
	long := func() *mapping.Error { return UploadTooLarge(of.Most) }
	f := newForm(Bounded(w, r, of.Most+FormOverhead, long), params["boundary"], of)
	f.encodes = encodesNames(r.UserAgent())
	return f, nil
}

func newForm(from io.Reader, boundary string, of FormParts) *Form {
	return &Form{of: of, body: from, parts: multipart.NewReader(from, boundary)}
}

// Say has the field known that was said outside of the form.
func (f *Form) Say(field string) { f.field = &field }

// Field is what the field says, "" where it is not said. It is final when there is a file.
func (f *Form) Field() string {
	if f.field == nil {
		return ""
	}
	return *f.field
}

// Err is why the form cannot be taken, however a reader of its file has wrapped it; nil: nothing was found so far.
func (f *Form) Err() error { return f.err }

// File finds the file, which must be closed. When the field is known by then, the file is streamed; else it is set
// aside until the rest of the form was read, since the field may follow.
func (f *Form) File() (*File, error) {
	part, err := f.next()
	if err != nil {
		return nil, err
	}
	if part == nil {
		return nil, f.fail(f.of.Invalid(f.of.File, "a part with a file name and the file's bytes"))
	}
	up := &File{Name: f.fileName(part), Type: part.Header.Get("Content-Type"), Reader: &formFile{form: f, part: part, left: f.of.Most}}
	if !mapping.IsText(up.Type) {
		return nil, f.fail(f.of.Invalid(f.of.File, "a part whose Content-Type is UTF-8 without U+0000"))
	}
	if f.field == nil {
		if err := up.setAside(); err != nil {
			up.Close()
			return nil, f.fail(err)
		}
	}
	return up, nil
}

// next returns the next file part, nil at the form's end. It takes note of the field and skips what it does not know.
func (f *Form) next() (*multipart.Part, error) {
	for {
		part, err := f.parts.NextPart()
		if err == io.EOF { //nolint:errorlint // a wrapped EOF is a missing end boundary
			return nil, f.readEpilogue()
		}
		if err == nil {
			if f.count++; f.count > maxParts {
				return nil, f.fail(malformed("The form has more than %d parts.", maxParts))
			}
			if part.FormName() == f.of.File && f.fileName(part) != "" {
				return part, nil
			}
			err = f.skip(part)
		}
		if err != nil {
			return nil, f.fail(formError(err))
		}
	}
}

// readEpilogue reads what follows the closing boundary, an epilogue that is not read, up to the request's own end: a
// message that breaks off is incomplete, whatever of it has come (RFC 9112, section 8).
func (f *Form) readEpilogue() error {
	_, err := io.Copy(io.Discard, f.body)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return f.fail(malformed("The request broke off after the form: its announced length, or its last chunk, is missing."))
	}
	if err != nil {
		return f.fail(formError(err))
	}
	return nil
}

func (f *Form) skip(part *multipart.Part) error {
	if part.FormName() != f.of.Field {
		_, err := io.Copy(io.Discard, part)
		return err
	}
	value, err := io.ReadAll(io.LimitReader(part, maxField+1))
	if err != nil {
		return err
	}
	said := string(value)
	switch {
	case len(value) > maxField:
		return f.of.Invalid(f.of.Field, "4096 bytes or less")
	case f.field != nil && *f.field != said:
		return f.of.Invalid(f.of.Field, "the same wherever it is said")
	}
	f.field = &said
	return nil
}

// rest reads what follows the file.
func (f *Form) rest() error {
	part, err := f.next()
	if err == nil && part != nil {
		err = f.fail(malformed("The form has two files. Upload one at a time."))
	}
	return err
}

// fail remembers the first error, since the reader of the file may hide it.
func (f *Form) fail(err error) error {
	if f.err == nil {
		f.err = err
	}
	return f.err
}

// formError classifies what broke the reading of a form.
func formError(err error) error {
	if known, ok := errors.AsType[*mapping.Error](err); ok {
		return known
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return malformed("The form ends without its closing boundary.")
	}
	return malformed("The multipart form cannot be read. See RFC 7578 for its form.")
}
