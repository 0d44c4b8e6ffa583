package inspect

import (
	"bytes"
	"cmp"
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

// fileView is a version of a file of a thread. Its bytes and its preview have addresses below the thread's.
type fileView struct {
	Version int64  `json:"version"`
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

// versionsOf returns the newest version of each file as of a run, if the run wrote it or named it in an event. A file that
// a run writes again with the same bytes still belongs to the run before it. Ids of runs are in the order of their creation.
func versionsOf(run string, named []string, versions []adapter.FileVersion) (list []adapter.FileVersion) {
	versions = slices.Clone(versions)
	slices.SortStableFunc(versions, func(a, b adapter.FileVersion) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(b.RunID, a.RunID), cmp.Compare(b.Version, a.Version))
	})
	for _, v := range versions {
		has := len(list) > 0 && list[len(list)-1].ID == v.ID
		if !has && (v.RunID == run || v.RunID != "" && v.RunID < run && slices.Contains(named, v.ID)) {
			list = append(list, v)
		}
	}
	return list
}

// attach sets the versions of the files in the turns and returns the remaining versions. A file in a message is stored
// under its name there.
func attach(turns []turn, versions []adapter.FileVersion) (others []adapter.FileVersion) {
	for _, v := range versions {
		there := false
		for i := range turns {
			for n := range turns[i].Files {
				if f := &turns[i].Files[n]; f.Link == "" && f.Name == v.Path && f.File == nil {
					f.File, there = new(viewFile(&v)), true
				}
			}
		}
		if !there {
			others = append(others, v)
		}
	}
	return others
}

func viewFile(v *adapter.FileVersion) fileView {
	return fileView{v.Version, v.Path, v.Size, previewKind(&v.Artifact)}
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

// filePreview sends an image, or the beginning of a text, for a frame in which nothing runs. The type is determined from
// the bytes, not from the agent's declaration.
func (s *server) filePreview(w http.ResponseWriter, r *http.Request) error {
	a, body, err := s.openVersion(r)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }() // nothing was written
	kind, content, err := preview(&a.Artifact, body)
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

// viewPaths groups versions, which are in the order of their paths.
func viewPaths(versions []adapter.FileVersion) []pathView {
	list := []pathView{}
	for _, v := range versions {
		if len(list) == 0 || list[len(list)-1].Path != v.Path {
			list = append(list, pathView{Path: v.Path})
		}
		last := &list[len(list)-1]
		last.Versions = append(last.Versions, versionView{v.Version, v.Fate, v.RunID, v.AgentCreated, v.Size, v.MIMEType, v.ModifiedAt})
	}
	return list
}

// openVersion opens the version of a file that a request names.
func (s *server) openVersion(r *http.Request) (v adapter.FileVersion, body io.ReadSeekCloser, err error) {
	version, err := strconv.ParseInt(mux.Vars(r)["version"], 10, 64)
	if err != nil {
		return v, nil, mapping.Errorf(mapping.NotFound, mapping.CodeArtifactNotFound, "The version of a file must be a number.")
	}
	return s.Service.OpenFileVersion(r.Context(), threadOf(r), version)
}

// threadFile sends the bytes of a version.
func (s *server) threadFile(w http.ResponseWriter, r *http.Request) error {
	v, body, err := s.openVersion(r)
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
