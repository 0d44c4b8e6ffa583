package backend

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"path"
	"strings"

	"github.com/apbridge/apbridge/adapter/upstream"
	"github.com/apbridge/apbridge/mapping"
	"go.uber.org/zap"
)

// uploads sends the thread's files to the agent's task.
type uploads struct {
	*runState
	past    *history
	files   *tracker
	inState map[string]json.RawMessage // late uploads as the state holds them, by path
}

// noteTold records that a step was yielded together with the position of the uploads.
func (u *uploads) noteTold() { u.files.given, u.inState = 0, nil }

// all uploads the thread's files to a task that has not begun (Agent Protocol v1, POST …/tasks/{id}/artifacts). After a
// restart, files that the agent already has are skipped.
func (u *uploads) all() error {
	list, err := u.assigned.Files.List(u.ctx)
	if err != nil {
		return err
	}
	u.files.given = u.files.given.With(list...)
	u.files.load(list, u.files.given)
	if len(list) == 0 {
		return nil
	}
	present := map[string]bool{}
	if u.past.remote != "" {
		present = u.present()
	}
	return u.send(list, present)
}

// replaced reports whether a file was replaced or deleted during the upload, so that the agent has not received it
// completely.
func replaced(err error) bool {
	var e *mapping.Error
	return errors.As(err, &e) && e.Code == mapping.CodeArtifactNotFound
}

func (u *uploads) send(list []mapping.Artifact, present map[string]bool) error {
	for _, a := range list {
		if present[a.Path] {
			continue
		}
		if taken, err := u.upload(a); err != nil || !taken {
			return err
		}
	}
	return nil
}

// present returns the paths that the agent lists, if it has a list.
func (u *uploads) present() map[string]bool {
	paths := map[string]bool{}
	list, _ := u.listArtifacts()
	for _, a := range list {
		if p, err := a.path(); err == nil {
			paths[p] = true
		}
	}
	return paths
}

// upload sends one file. taken is false if the agent accepts no files at all, which is recorded and does not fail the
// run.
func (u *uploads) upload(a mapping.Artifact) (taken bool, err error) {
	body, err := u.assigned.Files.Open(u.ctx, a.ID)
	if err != nil {
		return false, err
	}
	defer body.Close()
	form, contentType, err := u.form(a, body)
	if err != nil {
		return false, err
	}
	ans, err := u.change(u.ctx, &upstream.Call{Operation: upstream.OpUpload, Path: u.uploadPath(a), Type: contentType, Stream: form})
	if replaced(err) {
		return false, err
	} else if upstream.Is(err, upstream.Broken) {
		return false, u.away(err)
	} else if err != nil && !errors.Is(err, errTooLarge) {
		return false, err
	}
	return u.uploaded(a, ans)
}

func (u *uploads) uploaded(a mapping.Artifact, ans *upstream.Answer) (taken bool, err error) {
	switch ans.Status {
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented:
		if known, err := u.known(); err == nil && !known {
			return false, u.lost(u.remote)
		}
		u.log.Warn("agent does not accept files; continuing the task without them", zap.Int("status", ans.Status))
		return false, nil
	}
	if ans.Status/100 != 2 {
		e := u.refused(ans)
		e.Message += " This was the upload of the file " + u.excerpt(a.Path, 120) + "."
		return false, e
	}
	return true, nil
}

// uploadPath returns the path of the request. For forge, which ignores the form field, the query contains the file's
// path. Other servers may refuse an unknown parameter.
func (u *uploads) uploadPath(a mapping.Artifact) string {
	p := u.taskPath("/artifacts")
	if u.site.kind == kindForge && strings.Contains(a.Path, "/") {
		p += "?relative_path=" + url.QueryEscape(a.Path)
	}
	return p
}

// form returns the file as a multipart body of known length. relative_path contains the folder, and precedes the file
// because some servers read in order.
func (u *uploads) form(a mapping.Artifact, body io.Reader) (*upstream.Stream, string, error) {
	var head bytes.Buffer
	w := multipart.NewWriter(&head)
	if dir := path.Dir(a.Path); dir != "." {
		if err := w.WriteField("relative_path", dir); err != nil {
			return nil, "", err
		}
	}
	if _, err := w.CreatePart(u.fileHeader(a)); err != nil {
		return nil, "", err
	}
	tail := "\r\n--" + w.Boundary() + "--\r\n"
	size := int64(head.Len()) + a.Size + int64(len(tail))
	return &upstream.Stream{Reader: io.MultiReader(&head, body, strings.NewReader(tail)), Size: size}, w.FormDataContentType(), nil
}

// fileHeader returns the header of the file part. The JavaScript SDK reads a plain file name as Latin-1, but supports
// the extended form.
func (u *uploads) fileHeader(a mapping.Artifact) textproto.MIMEHeader {
	name, typ := path.Base(a.Path), a.MIMEType
	if typ == "" {
		typ = "application/octet-stream"
	}
	disposition := multipart.FileContentDisposition("file", name)
	if u.site.kind == kindJS && !isASCII(name) {
		disposition += "; filename*=UTF-8''" + strings.ReplaceAll(url.QueryEscape(name), "+", "%20")
	}
	return textproto.MIMEHeader{"Content-Disposition": {disposition}, "Content-Type": {typ}}
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}
