package adaptertest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"sort"
	"sync"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
)

// Files implements adapter.Files in memory. It is safe for concurrent use.
type Files struct {
	mu    sync.Mutex
	rows  map[string]mapping.Artifact // by path
	bytes map[string][]byte           // by id
	saves int
}

var _ adapter.Files = (*Files)(nil)

// NewFiles returns Files with the given contents by path, as if clients had uploaded them.
func NewFiles(uploads map[string]string) *Files {
	f := &Files{rows: map[string]mapping.Artifact{}, bytes: map[string][]byte{}}
	for path, content := range uploads {
		f.put(path, "", []byte(content), false)
	}
	return f
}

// List returns the files, sorted by path.
func (f *Files) List(context.Context) ([]mapping.Artifact, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := make([]mapping.Artifact, 0, len(f.rows))
	for _, a := range f.rows {
		list = append(list, a)
	}
	sort.Slice(list, func(i, j int) bool { return list[i].Path < list[j].Path })
	return list, nil
}

// Open reads a file.
func (f *Files) Open(_ context.Context, id string) (io.ReadCloser, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	b, ok := f.bytes[id]
	if !ok {
		return nil, mapping.Errorf(mapping.NotFound, mapping.CodeArtifactNotFound, "There is no artifact %q.", id)
	}
	return io.NopCloser(bytes.NewReader(b)), nil
}

// Save stores a file created by an agent. It stores nothing if reading the body fails.
func (f *Files) Save(_ context.Context, path, remoteID, mediaType string, body io.Reader) (mapping.Artifact, error) {
	b, err := io.ReadAll(body)
	if err != nil {
		return mapping.Artifact{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.saves++
	a := f.put(path, remoteID, b, true)
	a.MIMEType = mediaType
	f.rows[path] = a
	return a, nil
}

// Path returns a path that depends only on the id.
func (*Files) Path(id string) string { return "/files/" + id }

// Content returns the bytes at a path.
func (f *Files) Content(path string) (string, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	a, ok := f.rows[path]
	return string(f.bytes[a.ID]), ok
}

// Saves returns the number of successful calls of Save.
func (f *Files) Saves() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.saves
}

// when is the creation time of every file.
var when = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func (f *Files) put(path, remoteID string, b []byte, byAgent bool) mapping.Artifact {
	a, ok := f.rows[path]
	if !ok {
		a = mapping.Artifact{ID: fmt.Sprintf("artifact-%d", len(f.rows)+1), Path: path, CreatedAt: when, ModifiedAt: when}
	}
	sum := sha256.Sum256(b)
	a.Size, a.Sum, a.AgentCreated, a.RemoteID = int64(len(b)), hex.EncodeToString(sum[:]), byAgent, remoteID
	f.rows[path], f.bytes[a.ID] = a, b
	return a
}
