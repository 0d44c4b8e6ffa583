package stepping

import (
	"context"
	"encoding/json"
	"io"
	"unicode/utf8"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/proxy/store/artifact"
	"go.uber.org/zap"
)

// uploads are what clients uploaded for tasks. The caller has the session's turn.
type uploads struct {
	artifacts *artifact.Table
	engine    artifactPaths
	zap       *zap.Logger
}

// artifactPaths says where an artifact is served; engine.Engine implements it.
type artifactPaths interface {
	ArtifactPath(agent, taskID, artifactID string) string
}

// files is the files object of everything that was uploaded and that the task's agent has not been given yet, nil for
// none, and the mark after it. A file that cannot be read is left out, not fatal: the artifact itself stays, and the
// mark before it, so that it is tried again with the next step.
func (u uploads) files(ctx context.Context, ses *session) (json.RawMessage, mapping.Uploaded) {
	given := ses.given()
	list, err := u.artifacts.Uploads(ctx, ses.task.ThreadID)
	if err != nil || len(list) == 0 {
		return nil, given
	}
	files, upTo := map[string]json.RawMessage{}, given.With(list...)
	for _, a := range list {
		if given.Has(a) {
			continue
		}
		value, err := u.encode(ctx, ses, a)
		if err != nil {
			u.zap.Warn("an uploaded file could not be given to the agent", zap.Error(err), zap.String("artifact", a.ID))
			upTo = upTo.Before(a)
			continue
		}
		files["/"+a.Path] = value
	}
	if len(files) == 0 {
		return nil, given
	}
	raw, _ := json.Marshal(files)
	return raw, upTo
}

// asUpdate is the update of the state that goes with an answer or a further step: what was uploaded since the step
// before. Nil for none, and in front of an opaque agent, which has no state that could be updated: it is given the
// files themselves.
func (u uploads) asUpdate(ctx context.Context, ses *session) (json.RawMessage, mapping.Uploaded) {
	if _, traits, err := ses.agent.Backend(ctx); err != nil || traits.Opaque {
		return nil, ses.given()
	}
	files, upTo := u.files(ctx, ses)
	if files == nil {
		return nil, upTo
	}
	raw, _ := json.Marshal(map[string]json.RawMessage{"files": files})
	return raw, upTo
}

// given is up to where uploads are in the inputs and updates of the task's runs.
func (s *session) given() mapping.Uploaded {
	s.mu.Lock()
	defer s.mu.Unlock()
	given := s.uploaded
	for i := range s.runs {
		given = max(given, s.runs[i].Options.Uploaded)
	}
	return given
}

func (u uploads) encode(ctx context.Context, ses *session, a mapping.Artifact) (json.RawMessage, error) {
	cfg := ses.agent.Config.Artifacts
	if a.Size > int64(cfg.MaxInline) {
		return rule.EncodeReference(a, u.engine.ArtifactPath(ses.agent.Name, ses.task.ID, a.ID)), nil
	}
	_, body, err := u.artifacts.Open(ctx, a.ThreadID, a.ID)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	content, err := io.ReadAll(body)
	if err != nil {
		return nil, err
	}
	style := rule.FileStyle(cfg.Style)
	if !utf8.Valid(content) {
		style = rule.FileObject
	}
	return rule.EncodeFile(a, content, style), nil
}
