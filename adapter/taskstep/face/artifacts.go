package face

import (
	"context"
	"iter"
	"net/http"
	"net/url"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/gorilla/mux"
)

// artifacts answers for the files of tasks.
type artifacts struct{ *server }

// list is listAgentTaskArtifacts.
func (s artifacts) list(w http.ResponseWriter, r *http.Request, ref adapter.TaskRef) error {
	return list(s.server, w, r, "artifacts", func(ctx context.Context, p adapter.Page) (iter.Seq2[mapping.Artifact, error], int, error) {
		return short(s.svc.ListArtifacts(ctx, ref, p))
	}, s.layout(ref).artifact)
}

// ArtifactPath returns where an artifact of a task is downloaded, in the name of an agent.
func ArtifactPath(agent, taskID, artifactID string) string {
	return "/agents/" + url.PathEscape(agent) + "/ap/v1/agent/tasks/" + url.PathEscape(taskID) + "/artifacts/" + url.PathEscape(artifactID)
}

// download is downloadAgentTaskArtifact.
func (s artifacts) download(w http.ResponseWriter, r *http.Request, ref adapter.TaskRef) error {
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
		// Fewer bytes than Content-Length: the server closes the connection and the client sees that the file is cut.
		s.logFailure(w, r, mapping.Classify(err))
	}
	return nil
}
