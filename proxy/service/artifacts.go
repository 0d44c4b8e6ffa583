package service

import (
	"context"
	"io"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
)

func (s *Service) ListArtifacts(ctx context.Context, ref adapter.TaskRef, p adapter.Page) ([]mapping.Artifact, int, error) {
	t, _, err := s.findTask(ctx, ref)
	if err != nil {
		return nil, 0, err
	}
	return s.store.Artifacts.List(ctx, t.ThreadID, p.Size, (p.Number-1)*p.Size)
}

func (s *Service) GetArtifact(ctx context.Context, ref adapter.TaskRef, artifactID string) (mapping.Artifact, error) {
	t, _, err := s.findTask(ctx, ref)
	if err != nil {
		return mapping.Artifact{}, err
	}
	return s.store.Artifacts.Get(ctx, t.ThreadID, artifactID)
}

func (s *Service) OpenArtifact(ctx context.Context, ref adapter.TaskRef, artifactID string) (mapping.Artifact, io.ReadSeekCloser, error) {
	t, _, err := s.findTask(ctx, ref)
	if err != nil {
		return mapping.Artifact{}, nil, err
	}
	return s.store.Artifacts.Open(ctx, t.ThreadID, artifactID)
}

func (s *Service) SaveArtifact(ctx context.Context, ref adapter.TaskRef, path, mimeType string, body io.Reader) (mapping.Artifact, error) {
	t, _, err := s.findTask(ctx, ref)
	if err != nil {
		return mapping.Artifact{}, err
	}
	clean, err := rule.CleanPath(path)
	if err != nil {
		return mapping.Artifact{}, err
	}
	a := mapping.Artifact{ // the store sets its times once it is complete: see mapping.Uploaded
		Tenant: t.Tenant, ID: rule.ArtifactID(t.ThreadID, clean), ThreadID: t.ThreadID, TaskID: t.ID, Path: clean, MIMEType: mimeType,
	}
	mapping.AddAuditObject(ctx, "artifact", a.ID)
	return s.store.Artifacts.Save(ctx, a, body, int64(s.engine.Config().Limits.Artifact), false)
}
