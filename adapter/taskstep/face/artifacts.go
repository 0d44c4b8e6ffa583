package face

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/body"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/gorilla/mux"
)

// listArtifacts serves the operation listAgentTaskArtifacts.
func (s *server) listArtifacts(w http.ResponseWriter, r *http.Request, ref adapter.TaskRef) error {
	return list(s, w, r, "artifacts", func(ctx context.Context, p adapter.Page) (iter.Seq2[mapping.Artifact, error], int, error) {
		return short(s.svc.ListArtifacts(ctx, ref, p))
	}, s.layout(ref).artifact)
}

// ArtifactPath returns the path from which an artifact of an agent's task is downloaded.
func ArtifactPath(agent, taskID, artifactID string) string {
	return "/agents/" + url.PathEscape(agent) + "/ap/v1/agent/tasks/" + url.PathEscape(taskID) + "/artifacts/" + url.PathEscape(artifactID)
}

// downloadArtifact serves the operation downloadAgentTaskArtifact.
func (s *server) downloadArtifact(w http.ResponseWriter, r *http.Request, ref adapter.TaskRef) error {
	id := mux.Vars(r)["artifact"]
	if !storable(id) {
		return mapping.Errorf(mapping.NotFound, mapping.CodeArtifactNotFound, "The task has no artifact with this id.")
	}
	artifact, body, err := s.svc.OpenArtifact(r.Context(), ref, id)
	if err != nil {
		return err
	}
	defer body.Close()
	describeDownload(w.Header(), &artifact)
	err = adapter.ServeFile(w, r, artifact.Sum, body)
	if err == nil || mapping.Classify(err).Class == mapping.OutOfRange {
		return err
	}
	if r.Context().Err() == nil {
		// The body is shorter than its Content-Length, so the server closes the connection and the client notices.
		s.logFailure(w, r, mapping.Classify(err))
	}
	return nil
}

const (
	filePartName = "file"
	relativePath = "relative_path"
)

// TemporaryUploads is the name pattern of the files that uploads leave behind if the process dies.
const TemporaryUploads = body.TemporaryUploads

// uploadArtifact serves the operation uploadAgentTaskArtifacts. It reads the whole form, up to its closing boundary,
// before the file becomes visible. A refused upload therefore leaves nothing behind.
func (s *server) uploadArtifact(w http.ResponseWriter, r *http.Request, ref adapter.TaskRef) error {
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
		return f.Err() // the cause that SaveArtifact may have wrapped
	}
	if err != nil {
		return err
	}
	_ = send(w, s.style.created, written(s.layout(ref).artifact, &artifact))
	return nil
}

// openForm makes the checks that need no body. The query may also name the file's folder.
func (s *server) openForm(w http.ResponseWriter, r *http.Request) (*body.Form, error) {
	f, err := body.OpenForm(w, r, uploadParts(int64(s.face.Limits.Artifact)))
	if err != nil {
		return nil, err
	}
	q, err := queryOf(r)
	if err != nil {
		return nil, err
	}
	if q.Has(relativePath) {
		f.SetField(q[relativePath][0])
	}
	return f, nil
}

func uploadParts(most int64) body.FormParts {
	return body.FormParts{File: filePartName, Field: relativePath, Most: most, Invalid: func(part, what string) error { return invalid("body", part, what) }}
}

// incoming returns the file in a form and its canonical path in the task's folder.
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

// uploadPath returns the canonical path of an uploaded file. rel is the parameter relative_path, which is the file's
// folder, or its whole path if it ends in the name. Absolute paths are refused. A reader of the file may percent-decode
// its name, so the decoded name must not lead out of the folder either.
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

// describeDownload sets the headers of a download. A browser must not show an agent's file under the bridge's origin.
// The file is therefore an attachment, its type is not sniffed, and it is sandboxed if it is shown nevertheless.
func describeDownload(h http.Header, a *mapping.Artifact) {
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Content-Disposition", attachment(path.Base(a.Path)))
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "sandbox")
}

// attachment returns a Content-Disposition that contains the name twice (RFC 6266, section 4.3 and appendix D): in
// ASCII for old clients, and completely in the form of RFC 8187 for others.
func attachment(name string) string {
	var b strings.Builder
	b.WriteString(`attachment; filename="`)
	for _, c := range name {
		if c < ' ' || c > '~' || strings.ContainsRune(`"\%`, c) {
			c = '_'
		}
		b.WriteRune(c)
	}
	b.WriteString(`"; filename*=UTF-8''`)
	for i := 0; i < len(name); i++ {
		if isAttrChar(name[i]) {
			b.WriteByte(name[i])
			continue
		}
		const hex = "0123456789ABCDEF"
		b.Write([]byte{'%', hex[name[i]>>4], hex[name[i]&15]})
	}
	return b.String()
}

// isAttrChar reports whether c is an attr-char of RFC 8187, section 3.2.1.
func isAttrChar(c byte) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		return true
	}
	return strings.IndexByte("!#$&+-.^_`|~", c) >= 0
}
