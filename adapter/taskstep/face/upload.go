package face

import (
	"io"
	"net/http"
	"strings"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping/rule"
)

// formOverhead is what a form may be longer than its file: boundaries, part
// headers, further fields.
const formOverhead = 1 << 20

// upload is uploadAgentTaskArtifacts. The whole form is read, up to its
// closing boundary, before the file becomes visible: a refused upload leaves
// nothing behind.
func (s artifacts) upload(w http.ResponseWriter, r *http.Request, ref adapter.TaskRef) error {
	f, err := s.openForm(w, r)
	if err != nil {
		return err
	}
	if _, err := s.svc.Tasks.Get(r.Context(), ref); err != nil {
		return err
	}
	up, err := f.file(int64(s.face.Limits.Artifact))
	if err != nil {
		return err
	}
	defer up.Close()
	artifact, err := s.svc.Artifacts.Save(r.Context(), ref, up.path, up.mimeType, up)
	if f.err != nil {
		return f.err // the cause, however Save wrapped it
	}
	if err != nil {
		return err
	}
	_ = send(w, s.style.created, written(s.layout(ref).artifact, &artifact))
	return nil
}

// openForm checks what can be checked before the body is read.
func (s artifacts) openForm(w http.ResponseWriter, r *http.Request) (*form, error) {
	boundary, err := formBoundary(r.Header)
	if err != nil {
		return nil, err
	}
	limit := int64(s.face.Limits.Artifact) + formOverhead
	if r.ContentLength > limit {
		return nil, tooLarge(limit)
	}
	f := newForm(http.MaxBytesReader(w, r.Body, limit), boundary)
	q, err := queryOf(r)
	if err != nil {
		return nil, err
	}
	if q.Has(relativePath) {
		f.folder = &q[relativePath][0]
	}
	return f, nil
}

// incoming is the file of a form, ready to be read once. It reports the end of
// the file only when the rest of the form was read and found right.
type incoming struct {
	path     string // canonical
	mimeType string // as the client said it; may be empty
	io.Reader
	close func()
}

func (u *incoming) Close() {
	if u.close != nil {
		u.close()
	}
}

// uploadPath is where a file belongs: relative_path is its folder, or all of
// its path when it ends in the name. Unlike an agent's state, which calls its
// root "/", an upload has no business with absolute paths.
func uploadPath(name string, folder *string) (string, error) {
	rel := ""
	if folder != nil {
		rel = *folder
	}
	if strings.HasPrefix(name, "/") || strings.HasPrefix(rel, "/") {
		e := invalid("body", relativePath, "a path inside the task's folder")
		e.Message = "The file's name and relative_path must not begin with a slash."
		return "", e
	}
	return rule.ArtifactPath(name, rel)
}
