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
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/page"
	"github.com/apbridge/apbridge/mapping"
	"github.com/gorilla/mux"
)

// fileView is a file that a run has written.
type fileView struct {
	ID      string `json:"artifact_id"`
	Path    string `json:"path"`
	Size    int64  `json:"size"`
	Preview string `json:"preview,omitempty"` // text or image; "" if there is none
}

const (
	maxRunFiles  = 20
	previewText  = 64 << 10
	previewImage = 8 << 20
	sniffed      = 512 // bytes
)

// images are the types that browsers show without running anything.
var images = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// listRunFiles returns the files of a page's rows that still exist.
func (s *server) listRunFiles(ctx context.Context, run *mapping.Run, rows []row) (list []fileView, err error) {
	var ids []string
	for _, r := range rows {
		for _, id := range r.Artifacts {
			if !slices.Contains(ids, id) && len(ids) < maxRunFiles {
				ids = append(ids, id)
			}
		}
	}
	for _, id := range ids {
		a, err := s.Service.GetArtifact(ctx, taskOf(run), id)
		if isNotFound(err) {
			continue // it was deleted
		}
		if err != nil {
			return nil, err
		}
		list = append(list, fileView{a.ID, a.Path, a.Size, previewKind(&a)})
	}
	return list, nil
}

func taskOf(run *mapping.Run) adapter.TaskRef {
	return adapter.TaskRef{Agent: run.Agent, ID: run.TaskID, Flavour: run.Flavour}
}

// previewKind returns the kind of preview for a file's declared type or name. A file without either may be text.
func previewKind(a *mapping.Artifact) string {
	kind, _, _ := strings.Cut(cmp.Or(a.MIMEType, mime.TypeByExtension(path.Ext(a.Path))), ";")
	switch {
	case slices.Contains(images, kind) && a.Size <= previewImage:
		return "image"
	case kind == "" || strings.HasPrefix(kind, "text/") || kind == "application/json":
		return "text"
	}
	return ""
}

// runFile sends an image, or the beginning of a text, for a frame in which nothing runs. The type is determined from
// the bytes, not from the agent's declaration.
func (s *server) runFile(w http.ResponseWriter, r *http.Request) error {
	run, err := s.Service.GetRun(r.Context(), refOf(r))
	if err != nil {
		return err
	}
	a, body, err := s.Service.OpenArtifact(r.Context(), taskOf(run), mux.Vars(r)["artifact_id"])
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
		return "", nil, mapping.Errorf(mapping.Invalid, mapping.CodeInvalid, "The file %q is neither text nor an image that can be shown.", a.Path)
	}
	return "text/plain; charset=utf-8", strings.NewReader(page.Text(string(text))), nil
}

// pathView is a path of a thread with its kept versions, newest first.
type pathView struct {
	Path     string        `json:"path"`
	Versions []versionView `json:"versions"`
}

type versionView struct {
	Version    int64            `json:"version"`
	Fate       adapter.FileFate `json:"fate"`
	RunID      string           `json:"run_id,omitempty"`
	ByAgent    bool             `json:"by_agent"`
	Size       int64            `json:"size"`
	Type       string           `json:"type,omitempty"`
	ModifiedAt time.Time        `json:"modified_at"`
}

func (s *server) listThreadFiles(ctx context.Context, thread string) ([]pathView, error) {
	versions, err := s.Service.ListFileVersions(ctx, thread)
	list := []pathView{}
	for _, v := range versions {
		if len(list) == 0 || list[len(list)-1].Path != v.Path {
			list = append(list, pathView{Path: v.Path})
		}
		last := &list[len(list)-1]
		last.Versions = append(last.Versions, versionView{v.Version, v.Fate, v.RunID, v.AgentCreated, v.Size, v.MIMEType, v.ModifiedAt})
	}
	return list, err
}

// threadFile sends the bytes of a version.
func (s *server) threadFile(w http.ResponseWriter, r *http.Request) error {
	version, err := strconv.ParseInt(mux.Vars(r)["version"], 10, 64)
	if err != nil {
		return mapping.Errorf(mapping.NotFound, mapping.CodeArtifactNotFound, "The version of a file must be a number.")
	}
	v, body, err := s.Service.OpenFileVersion(r.Context(), threadOf(r), version)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }() // nothing was written
	mapping.AddAuditObject(r.Context(), "artifact", v.ID)
	setAttachment(w.Header(), "application/octet-stream", path.Base(v.Path))
	err = adapter.ServeFile(w, r, v.Sum, body)
	if err != nil && mapping.Classify(err).Class != mapping.OutOfRange {
		panic(http.ErrAbortHandler) // part of it has been sent
	}
	return err
}

// setAttachment makes browsers save foreign bytes instead of showing them.
func setAttachment(h http.Header, kind, name string) {
	h.Set("Content-Type", kind)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	h.Set("Cache-Control", "private, no-store")
	name = strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f {
			return '_'
		}
		return c
	}, name)
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": name}))
}

func sendAttachment(w http.ResponseWriter, kind, name string, b []byte) error {
	setAttachment(w.Header(), kind, name)
	w.Header().Set("Content-Length", strconv.Itoa(len(b)))
	_, _ = w.Write(b) // the client may be gone
	return nil
}

func sendText(w http.ResponseWriter, name string, b []byte) error {
	return sendAttachment(w, "text/plain; charset=utf-8", name+".txt", b)
}
