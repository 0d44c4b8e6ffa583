package agent

import (
	"bytes"
	"context"
	"mime"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"path"
	"strings"
)

// Upload sends a file: the folder it belongs into first, unless it is the root, then its bytes, with the name
// percent-encoded as agbenchmark does, and also in the form of RFC 5987 if that changes it.
func (c *Client) Upload(ctx context.Context, task, at string, content []byte) error {
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	if err := writeForm(w, at, content); err != nil {
		return err
	}
	_, err := c.read(ctx, request{http.MethodPost, c.task(task) + "/artifacts", w.FormDataContentType(), form.Bytes()})
	return err
}

func writeForm(w *multipart.Writer, at string, content []byte) error {
	folder, name := path.Split(at)
	if folder != "" {
		if err := w.WriteField("relative_path", strings.TrimSuffix(folder, "/")); err != nil {
			return err
		}
	}
	kind := mime.TypeByExtension(path.Ext(name))
	if kind == "" {
		kind = "application/octet-stream"
	}
	disposition := `form-data; name="file"; filename="` + url.PathEscape(name) + `"`
	if url.PathEscape(name) != name {
		disposition += "; filename*=UTF-8''" + url.PathEscape(name)
	}
	part, err := w.CreatePart(textproto.MIMEHeader{"Content-Type": {kind}, "Content-Disposition": {disposition}})
	if err != nil {
		return err
	}
	if _, err := part.Write(content); err != nil {
		return err
	}
	return w.Close()
}
