package backend

import (
	"bytes"
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

// uploadAll hands the thread's files to a task that has not begun (Agent
// Protocol v1, POST …/tasks/{id}/artifacts). After a pick-up, those that are
// there already are left alone.
func (d *drive) uploadAll() error {
	list, err := d.task.Files.List(d.ctx)
	if err != nil {
		return err
	}
	d.given = d.given.With(list...)
	d.files.load(list, d.given)
	if len(list) == 0 {
		return nil
	}
	present := map[string]bool{}
	if d.linkedBefore() {
		present = d.present()
	}
	return d.uploadExcept(list, present)
}

// replaced tells that a file got other bytes, or was removed, while it was read.
// The agent was sent none of it, or not to its end.
func replaced(err error) bool {
	var e *mapping.Error
	return errors.As(err, &e) && e.Code == mapping.CodeArtifactNotFound
}

func (d *drive) uploadExcept(list []mapping.Artifact, present map[string]bool) error {
	for _, a := range list {
		if present[a.Path] {
			continue
		}
		if taken, err := d.upload(a); err != nil || !taken {
			return err
		}
	}
	return nil
}

// present are the paths the agent has; none when it does not say.
func (d *drive) present() map[string]bool {
	paths := map[string]bool{}
	list, _ := d.listArtifacts()
	for _, a := range list {
		if p, err := a.path(); err == nil {
			paths[p] = true
		}
	}
	return paths
}

// upload sends one file. taken is false when the agent takes no files at all,
// which is noted and no failure.
func (d *drive) upload(a mapping.Artifact) (taken bool, err error) {
	body, err := d.task.Files.Open(d.ctx, a.ID)
	if err != nil {
		return false, err
	}
	defer body.Close()
	form, contentType, err := d.form(a, body)
	if err != nil {
		return false, err
	}
	ans, err := d.change(d.ctx, upstream.Call{Operation: upstream.OpUpload, Path: d.uploadPath(a), Type: contentType, Stream: form})
	if replaced(err) {
		return false, err
	} else if upstream.Is(err, upstream.Broken) {
		return false, d.away(err)
	} else if err != nil && !errors.Is(err, errTooLarge) {
		return false, err
	}
	return d.uploaded(a, ans)
}

func (d *drive) uploaded(a mapping.Artifact, ans *upstream.Answer) (taken bool, err error) {
	switch ans.Status {
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented:
		if known, err := d.known(); err == nil && !known {
			return false, d.lost(d.remote)
		}
		d.log.Warn("agent takes no files; the task goes on without", zap.String("agent", d.up.Name), zap.Int("status", ans.Status))
		return false, nil
	}
	if ans.Status/100 != 2 {
		e := d.refused(ans)
		e.Message += " This was the upload of the file " + clip(a.Path, 120) + "."
		return false, e
	}
	return true, nil
}

// uploadPath names the whole path in the query for forge, which ignores the
// form field; others may refuse a parameter they do not know.
func (d *drive) uploadPath(a mapping.Artifact) string {
	p := d.taskPath("/artifacts")
	if d.site.kind == kindForge && strings.Contains(a.Path, "/") {
		p += "?relative_path=" + url.QueryEscape(a.Path)
	}
	return p
}

// form wraps the file in a multipart body of known length: the folder in
// relative_path (before the file: some servers read in order), the name with
// the file.
func (d *drive) form(a mapping.Artifact, body io.Reader) (*upstream.Stream, string, error) {
	var head bytes.Buffer
	w := multipart.NewWriter(&head)
	if dir := path.Dir(a.Path); dir != "." {
		if err := w.WriteField("relative_path", dir); err != nil {
			return nil, "", err
		}
	}
	if _, err := w.CreatePart(d.fileHeader(a)); err != nil {
		return nil, "", err
	}
	tail := "\r\n--" + w.Boundary() + "--\r\n"
	size := int64(head.Len()) + a.Size + int64(len(tail))
	return &upstream.Stream{Reader: io.MultiReader(&head, body, strings.NewReader(tail)), Size: size}, w.FormDataContentType(), nil
}

// fileHeader describes the file part. The JavaScript SDK reads a plain file
// name as Latin-1, but knows the extended form.
func (d *drive) fileHeader(a mapping.Artifact) textproto.MIMEHeader {
	name, typ := path.Base(a.Path), a.MIMEType
	if typ == "" {
		typ = "application/octet-stream"
	}
	disposition := multipart.FileContentDisposition("file", name)
	if d.site.kind == kindJS && !isASCII(name) {
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
