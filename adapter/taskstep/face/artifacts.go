package face

import (
	"context"
	"net/http"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/gorilla/mux"
)

// listArtifacts is listAgentTaskArtifacts.
func (s *server) listArtifacts(w http.ResponseWriter, r *http.Request, ref adapter.TaskRef) error {
	return list(w, r, "artifacts", func(ctx context.Context, p adapter.Page) ([]mapping.Artifact, int, error) {
		return s.svc.Artifacts.List(ctx, ref, p)
	}, s.layout(ref).artifact)
}

// downloadArtifact is downloadAgentTaskArtifact.
func (s *server) downloadArtifact(w http.ResponseWriter, r *http.Request, ref adapter.TaskRef) error {
	id := mux.Vars(r)["artifact"]
	if !storable(id) {
		return mapping.Errorf(mapping.NotFound, mapping.CodeArtifactNotFound, "The task has no artifact with this id.")
	}
	artifact, body, err := s.svc.Artifacts.Open(r.Context(), ref, id)
	if err != nil {
		return err
	}
	defer body.Close()
	describeDownload(w.Header(), &artifact)
	if r.Method == http.MethodHead {
		return nil
	}
	if err := copyBody(w, body); err != nil && r.Context().Err() == nil {
		// Fewer bytes than Content-Length: the server closes the connection
		// and the client sees that the file is cut.
		s.logFailure(w, r, mapping.Classify(err))
	}
	return nil
}
