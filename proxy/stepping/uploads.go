package stepping

import (
	"context"
	"encoding/json"
	"io"
	"unicode/utf8"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
	"go.uber.org/zap"
)

// uploads returns the files object of all uploads that the task's agent has not received yet, or nil, and the cursor
// that includes them. An unreadable file is skipped without an error. It is not included in the cursor, so that the
// next step tries it again. The caller must hold the task's lock.
func (s *Stepper) uploads(ctx context.Context, ses *session) (json.RawMessage, mapping.UploadCursor) {
	given := ses.given()
	list, err := s.store.Artifacts.Uploads(ctx, ses.task.ThreadID)
	if err != nil && ctx.Err() == nil {
		s.logger.Warn("uploaded files could not be listed; the next step tries again", zap.Error(err), zap.String("task", ses.task.ID))
	}
	if err != nil || len(list) == 0 {
		return nil, given
	}
	files, upTo := map[string]json.RawMessage{}, given.With(list...)
	for _, a := range list {
		if given.Has(a) {
			continue
		}
		value, err := s.encode(ctx, ses, a)
		if err != nil {
			s.logger.Warn("uploaded file could not be sent to the agent", zap.Error(err), zap.String("artifact", a.ID))
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

// uploadsAsUpdate returns the state update with the uploads since the previous step, for an answer or another step. It
// returns nil if there are none, or for an opaque agent, which has no state to update and receives the files directly.
func (s *Stepper) uploadsAsUpdate(ctx context.Context, ses *session) (json.RawMessage, mapping.UploadCursor) {
	if _, traits, err := ses.agent.Backend(ctx); err != nil || !traits.Exposes.ReportsState() {
		return nil, ses.given()
	}
	files, upTo := s.uploads(ctx, ses)
	if files == nil {
		return nil, upTo
	}
	raw, _ := json.Marshal(map[string]json.RawMessage{"files": files})
	return raw, upTo
}

func (s *Stepper) encode(ctx context.Context, ses *session, a mapping.Artifact) (json.RawMessage, error) {
	cfg := ses.agent.Config.Artifacts
	if a.Size > int64(cfg.MaxInline) {
		return rule.EncodeReference(a, s.engine.ArtifactPath(ses.agent.Name, ses.task.ID, a.ID)), nil
	}
	_, body, err := s.store.Artifacts.Open(ctx, a.ThreadID, a.ID)
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

// given returns the cursor of the uploads in the inputs and updates of the task's runs.
func (s *session) given() mapping.UploadCursor {
	s.mu.Lock()
	defer s.mu.Unlock()
	given := s.uploaded
	for i := range s.runs {
		given = max(given, s.runs[i].Options.Uploaded)
	}
	return given
}
