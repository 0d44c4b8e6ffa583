package service

import (
	"context"
	"io"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/apbridge/apbridge/proxy/store/artifact"
)

func (s *Service) ListCheckpoints(ctx context.Context, threadID string, q adapter.HistoryQuery) ([]mapping.Checkpoint, error) {
	return s.store.States.Checkpoints(ctx, threadID, store.CheckpointQuery{Before: q.Before, At: q.At, Metadata: q.Metadata, Limit: q.Limit})
}

func (s *Service) ListFileVersions(ctx context.Context, threadID string) ([]adapter.FileVersion, error) {
	rows, err := s.store.Artifacts.Versions(ctx, threadID)
	if err != nil {
		return nil, err
	}
	list := make([]adapter.FileVersion, len(rows))
	for i := range rows {
		list[i] = fileVersion(rows[i])
	}
	return list, nil
}

func (s *Service) OpenFileVersion(ctx context.Context, threadID string, version int64) (adapter.FileVersion, io.ReadSeekCloser, error) {
	row, body, err := s.store.Artifacts.OpenVersion(ctx, threadID, version)
	if err != nil {
		return adapter.FileVersion{}, nil, err
	}
	return fileVersion(row), body, nil
}

func fileVersion(row artifact.FileVersion) adapter.FileVersion {
	v := adapter.FileVersion{Artifact: row.Artifact, Version: row.Key, RunID: row.RunID, Fate: adapter.FileReplaced}
	switch {
	case row.Visible:
		v.Fate = adapter.FileCurrent
	case row.OtherLine:
		v.Fate = adapter.FileOtherLine
	}
	return v
}

func (s *Service) ListRecalledItems(ctx context.Context, threadID string, limit int) ([]adapter.RecalledItems, error) {
	rows, err := s.store.Events.Recalled(ctx, threadID, limit)
	list := make([]adapter.RecalledItems, len(rows))
	for i, row := range rows {
		list[i] = adapter.RecalledItems(row)
	}
	return list, err
}
