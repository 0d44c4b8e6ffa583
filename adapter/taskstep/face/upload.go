package face

import (
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/body"
	"github.com/apbridge/apbridge/mapping/rule"
)

const (
	filePartName = "file"
	relativePath = "relative_path"
)

// TemporaryUploads is the pattern of the names of files that uploads leave behind where the process dies.
const TemporaryUploads = body.TemporaryUploads

// upload is uploadAgentTaskArtifacts. The whole form is read, up to its closing boundary, before the file becomes
// visible: a refused upload leaves nothing behind.
func (s artifacts) upload(w http.ResponseWriter, r *http.Request, ref adapter.TaskRef) error {
	f, err := s.openForm(w, r)
	if err != nil {
		return err
	}
	if _, err := s.svc.GetTask(r.Context(), ref); err != nil {
		return err
	}
	up, path, err := incoming(f)
	if err != nil {
		return err
	}
	defer up.Close()
	artifact, err := s.svc.SaveArtifact(r.Context(), ref, path, up.Type, up)
	if f.Err() != nil {
		return f.Err() // the cause, however Save wrapped it
	}
	if err != nil {
		return err
	}
	_ = send(w, s.style.created, written(s.layout(ref).artifact, &artifact))
	return nil
}

// openForm checks what can be checked before the body is read. The folder of the file may be said in the query, too.
func (s artifacts) openForm(w http.ResponseWriter, r *http.Request) (*body.Form, error) {
	f, err := body.OpenForm(w, r, uploadParts(int64(s.face.Limits.Artifact)))
	if err != nil {
		return nil, err
	}
	q, err := queryOf(r)
	if err != nil {
		return nil, err
	}
	if q.Has(relativePath) {
		f.Say(q[relativePath][0])
	}
	return f, nil
}

func uploadParts(most int64) body.FormParts {
	return body.FormParts{File: filePartName, Field: relativePath, Most: most, Invalid: func(part, what string) error { return invalid("body", part, what) }}
}

// incoming is the file of a form, and the canonical path that it belongs at.
func incoming(f *body.Form) (*body.File, string, error) {
	up, err := f.File()
	if err != nil {
		return nil, "", err
	}
	path, err := uploadPath(up.Name, f.Field())
	if err != nil {
		up.Close()
		return nil, "", err
	}
	return up, path, nil
}

// uploadPath is where a file belongs: rel, relative_path, is its folder, or all of its path when it ends in the name.
// Unlike an agent's state, which calls its root "/", an upload has no business with absolute paths.
// A reader of the file may decode its name, so the decoded name must not lead out of the folder either.
func uploadPath(name, rel string) (string, error) {
	if decoded, err := url.PathUnescape(name); err == nil && decoded != name && utf8.ValidString(decoded) {
		if _, err := uploadPath(decoded, rel); err != nil {
			return "", err
		}
	}
	if strings.HasPrefix(name, "/") || strings.HasPrefix(rel, "/") {
		e := invalid("body", relativePath, "a path inside the task's folder")
		e.Message = "The file's name and relative_path must not begin with a slash."
		return "", e
	}
	return rule.ArtifactPath(name, rel)
}
