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
	maxField = 4 << 10 // maximum bytes of the field
)

// FormOverhead is the number of bytes allowed for a form in addition to its file: boundaries, part headers, other
// fields.
const FormOverhead = 1 << 20

// FormParts holds the part names and limits of a dialect's uploads.
type FormParts struct {
	File  string // the part with the file
	Field string // a field about the file, before or after it
	Most  int64  // maximum bytes of the file: limits.artifact
	// Invalid returns the error for a part. what completes the sentence "<part> must be …".
	Invalid func(part, what string) error
}

// Form reads a multipart upload (RFC 7578) of one file, part by part in any order. It ignores unknown parts.
type Form struct {
	of    FormParts
	body  io.Reader
	parts *multipart.Reader
	count int
	field *string // nil until known
	err   error   // the first error; final

	encodes bool // the client percent-encodes every file name
}

// OpenForm returns the form of a request after all checks that do not need its body.
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

// SetField sets a field that was given outside the form.
func (f *Form) SetField(field string) { f.field = &field }

// Field returns the value of the field, or "". It is final once File has returned.
func (f *Form) Field() string {
	if f.field == nil {
		return ""
	}
	return *f.field
}

// Err returns the first error of the form, unwrapped even if a reader of its file has wrapped it. It returns nil if
// there was no error so far.
func (f *Form) Err() error { return f.err }

// File returns the file, which the caller must close. If the field is known by then, the file is streamed. Otherwise it
// is stored until the rest of the form has been read, because the field may follow.
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

// next returns the next part with a file, or nil at the end of the form. It records the field and skips unknown parts.
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

// readEpilogue discards the data after the closing boundary. If the request breaks off there, it is incomplete even
// though the form is complete (RFC 9112, section 8).
func (f *Form) readEpilogue() error {
	_, err := io.Copy(io.Discard, f.body)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return f.fail(malformed("The request broke off after the form, before its announced length or its last chunk."))
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
		return f.of.Invalid(f.of.Field, "the same wherever it is given")
	}
	f.field = &said
	return nil
}

// rest reads the parts after the file.
func (f *Form) rest() error {
	part, err := f.next()
	if err == nil && part != nil {
		err = f.fail(malformed("The form has two files. Upload one at a time."))
	}
	return err
}

// fail records the first error, because a reader of the file may wrap it, and returns it.
func (f *Form) fail(err error) error {
	if f.err == nil {
		f.err = err
	}
	return f.err
}

// formError classifies an error from reading a form.
func formError(err error) error {
	if known, ok := errors.AsType[*mapping.Error](err); ok {
		return known
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return malformed("The form ends without its closing boundary.")
	}
	return malformed("The multipart form cannot be read. See RFC 7578 for the format.")
}
