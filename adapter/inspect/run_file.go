package inspect

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"mime"
	"net/http"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/inspect/timeline"
	"github.com/apbridge/apbridge/adapter/page"
	"github.com/apbridge/apbridge/mapping"
	"github.com/gorilla/mux"
)

// fileView is a file that was written with an event of the page.
type fileView struct {
	ID   string `json:"artifact_id"`
	Path string `json:"path"`
	Size int64  `json:"size"`
	// Preview is text or image, "" where there is none.
	Preview string `json:"preview,omitempty"`
}

const (
	filesShown   = 20
	previewText  = 64 << 10
	previewImage = 8 << 20
	sniffed      = 512
)

// images are the kinds that browsers draw without running anything of them.
var images = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// runFiles are the files that runs have written.
type runFiles struct {
	runs      runFinder
	artifacts artifactReader
}

// artifactReader is part of adapter.Tasks.
type artifactReader interface {
	GetArtifact(ctx context.Context, ref adapter.TaskRef, id string) (mapping.Artifact, error)
	OpenArtifact(ctx context.Context, ref adapter.TaskRef, id string) (mapping.Artifact, io.ReadSeekCloser, error)
}

// list returns the files of a page's rows, as they are now.
func (f *runFiles) list(ctx context.Context, run *mapping.Run, rows []timeline.Row) (list []fileView, err error) {
	var ids []string
	for _, r := range rows {
		for _, id := range r.Artifacts {
			if !slices.Contains(ids, id) && len(ids) < filesShown {
				ids = append(ids, id)
			}
		}
	}
	for _, id := range ids {
		a, err := f.artifacts.GetArtifact(ctx, artifactsOf(run), id)
		if err != nil {
			if mapping.Classify(err).Class == mapping.NotFound {
				continue // it is gone by now
			}
			return nil, err
		}
		list = append(list, fileView{a.ID, a.Path, a.Size, previewOf(&a)})
	}
	return list, nil
}

func artifactsOf(run *mapping.Run) adapter.TaskRef {
	return adapter.TaskRef{Agent: run.Agent, ID: run.TaskID, Flavour: run.Flavour}
}

// previewOf goes by what the file is said to be, or by its name. One of which neither says anything may be a text.
func previewOf(a *mapping.Artifact) string {
	kind, _, _ := strings.Cut(cmp.Or(a.MIMEType, mime.TypeByExtension(path.Ext(a.Path))), ";")
	switch {
	case slices.Contains(images, kind) && a.Size <= previewImage:
		return "image"
	case kind == "" || strings.HasPrefix(kind, "text/") || kind == "application/json":
		return "text"
	}
	return ""
}

// serve sends an image, or the beginning of a text as plain text, for a frame in which nothing runs. The bytes decide
// what it is, not what their agent said of them.
func (f *runFiles) serve(w http.ResponseWriter, r *http.Request) error {
	run, err := f.runs.GetRun(r.Context(), refOf(r))
	if err != nil {
		return err
	}
	a, body, err := f.artifacts.OpenArtifact(r.Context(), artifactsOf(run), mux.Vars(r)["artifact_id"])
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }() // nothing was written
	kind, content, err := preview(&a, body)
	if err != nil {
		return err
	}
	mapping.AddAuditObject(r.Context(), "artifact", a.ID)
	h := w.Header()
	h.Set("Content-Type", kind)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Disposition", "inline")
	h.Set("Content-Security-Policy", "default-src 'none'; img-src 'self'; sandbox; frame-ancestors 'self'")
	h.Set("Cache-Control", "private, no-store")
	_, _ = io.Copy(w, content) // the client may be gone
	return nil
}

func preview(a *mapping.Artifact, body io.Reader) (kind string, content io.Reader, err error) {
	head := make([]byte, sniffed)
	n, err := io.ReadFull(body, head)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return "", nil, err
	}
	whole := io.MultiReader(bytes.NewReader(head[:n]), body)
	if kind = http.DetectContentType(head[:n]); slices.Contains(images, kind) && a.Size <= previewImage {
		return kind, whole, nil
	}
	text, err := io.ReadAll(io.LimitReader(whole, previewText))
	if err != nil {
		return "", nil, err
	}
	if text = withoutHalfRune(text); !utf8.Valid(text) {
		return "", nil, mapping.Errorf(mapping.Invalid, mapping.CodeInvalid, "The file %q is neither a text nor an image that can be shown.", a.Path)
	}
	return "text/plain; charset=utf-8", strings.NewReader(page.Text(string(text))), nil
}
