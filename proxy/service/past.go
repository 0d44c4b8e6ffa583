package service

import (
	"context"
	"io"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/apbridge/apbridge/proxy/store/artifact"
)

// past is what a thread keeps beside its present state.
type past struct {
	states    *store.States
	artifacts *artifact.Table
	events    *store.Events
}

func (s *past) ListCheckpoints(ctx context.Context, threadID string, q adapter.HistoryQuery) ([]mapping.Checkpoint, error) {
	return s.states.Checkpoints(ctx, threadID, store.CheckpointQuery{Before: q.Before, At: q.At, Metadata: q.Metadata, Limit: q.Limit})
}

func (s *past) ListFileVersions(ctx context.Context, threadID string) ([]adapter.FileVersion, error) {
	rows, err := s.artifacts.Versions(ctx, threadID)
	if err != nil {
		return nil, err
	}
	list := make([]adapter.FileVersion, len(rows))
	for i := range rows {
		list[i] = fileVersion(rows[i])
	}
	return list, nil
}

func (s *past) OpenFileVersion(ctx context.Context, threadID string, version int64) (adapter.FileVersion, io.ReadSeekCloser, error) {
	row, body, err := s.artifacts.OpenVersion(ctx, threadID, version)
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

func (s *past) ListRecalledItems(ctx context.Context, threadID string, limit int) ([]adapter.ToldItems, error) {
	rows, err := s.events.Told(ctx, threadID, limit)
	list := make([]adapter.ToldItems, len(rows))
	for i, row := range rows {
		list[i] = adapter.ToldItems(row)
	}
	return list, err
}
