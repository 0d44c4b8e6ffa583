package service

import (
	"context"
	"io"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/proxy/store/artifact"
)

// artifacts are the files of a task's thread.
type artifacts struct {
	tasks    taskFinder
	table    *artifact.Table
	settings settings
}

func (s *artifacts) ListArtifacts(ctx context.Context, ref adapter.TaskRef, p adapter.Page) ([]mapping.Artifact, int, error) {
	t, _, err := s.tasks.find(ctx, ref)
	if err != nil {
		return nil, 0, err
	}
	return s.table.List(ctx, t.ThreadID, p.Size, (p.Number-1)*p.Size)
}

func (s *artifacts) GetArtifact(ctx context.Context, ref adapter.TaskRef, artifactID string) (mapping.Artifact, error) {
	t, _, err := s.tasks.find(ctx, ref)
	if err != nil {
		return mapping.Artifact{}, err
	}
	return s.table.Get(ctx, t.ThreadID, artifactID)
}

func (s *artifacts) OpenArtifact(ctx context.Context, ref adapter.TaskRef, artifactID string) (mapping.Artifact, io.ReadSeekCloser, error) {
	t, _, err := s.tasks.find(ctx, ref)
	if err != nil {
		return mapping.Artifact{}, nil, err
	}
	return s.table.Open(ctx, t.ThreadID, artifactID)
}

func (s *artifacts) SaveArtifact(ctx context.Context, ref adapter.TaskRef, path, mimeType string, body io.Reader) (mapping.Artifact, error) {
	t, _, err := s.tasks.find(ctx, ref)
	if err != nil {
		return mapping.Artifact{}, err
	}
	clean, err := rule.CleanPath(path)
	if err != nil {
		return mapping.Artifact{}, err
	}
	a := mapping.Artifact{ // the store gives it its times, when all of it is there: see mapping.Uploaded
		Tenant: t.Tenant, ID: rule.ArtifactID(t.ThreadID, clean), ThreadID: t.ThreadID, TaskID: t.ID, Path: clean, MIMEType: mimeType,
	}
	mapping.NoteObject(ctx, "artifact", a.ID)
	return s.table.Save(ctx, a, body, int64(s.settings.Config().Limits.Artifact), false)
}
