package service

import (
	"context"
	"encoding/json"
	"io"
	"unicode/utf8"

	"github.com/apbridge/apbridge/mapping"
	"go.uber.org/zap"
)

// uploads is the files object of a run's input: everything the task's client
// uploaded since its last run. A file that cannot be read is left out, not
// fatal: the artifact itself stays.
func (p *pull) uploads(ctx context.Context) json.RawMessage {
	list, err := p.st.Uploads(ctx, p.ses.task.ThreadID)
	if err != nil || len(list) == 0 {
		return nil
	}
	files := map[string]json.RawMessage{}
	for _, a := range list {
		if !p.fresh(a) {
			continue
		}
		value, err := p.encode(ctx, a)
		if err != nil {
			p.zap.Warn("an uploaded file could not be given to the agent", zap.Error(err), zap.String("artifact", a.ID))
			continue
		}
		files["/"+a.Path] = value
	}
	if len(files) == 0 {
		return nil
	}
	raw, _ := json.Marshal(files)
	return raw
}

// uploadsToAnswer is the update of the state that goes with an answer: what was
// uploaded since the question. Nil for none, and before a task/step agent, which
// has no state that could be updated.
func (p *pull) uploadsToAnswer(ctx context.Context) json.RawMessage {
	files := p.uploads(ctx)
	if files == nil {
		return nil
	}
	if _, traits, err := p.ses.agent.Backend(ctx); err != nil || traits.Opaque {
		return nil
	}
	raw, _ := json.Marshal(map[string]json.RawMessage{"files": files})
	return raw
}

// fresh tells whether the upload is newer than the task's newest run.
func (p *pull) fresh(a mapping.Artifact) bool {
	p.ses.mu.Lock()
	defer p.ses.mu.Unlock()
	if n := len(p.ses.runs); n > 0 {
		return a.ModifiedAt.After(p.ses.runs[n-1].CreatedAt)
	}
	return true
}

func (p *pull) encode(ctx context.Context, a mapping.Artifact) (json.RawMessage, error) {
	cfg := p.ses.agent.Config.Artifacts
	if a.Size > int64(cfg.MaxInline) {
		return mapping.EncodeReference(a), nil
	}
	_, body, err := p.st.OpenArtifact(ctx, a.ThreadID, a.ID)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	content, err := io.ReadAll(body)
	if err != nil {
		return nil, err
	}
	style := mapping.FileStyle(cfg.Style)
	if !utf8.Valid(content) {
		style = mapping.FileObject
	}
	return mapping.EncodeFile(a, content, style), nil
}
