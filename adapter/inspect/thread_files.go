package inspect

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/gorilla/mux"
)

// prettyMost is how long JSON is written with its members in lines.
const prettyMost = 256 << 10

func indented(value json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, value, "", "  ") != nil {
		return string(value)
	}
	return b.String()
}

// fileRow is a path with all that is kept of it, the newest first.
type fileRow struct {
	Path     string       `json:"path"`
	Versions []versionRow `json:"versions"`
}

type versionRow struct {
	Version    int64            `json:"version"`
	Fate       adapter.FileFate `json:"fate"`
	RunID      string           `json:"run_id,omitempty"`
	ByAgent    bool             `json:"by_agent"`
	Size       int64            `json:"size"`
	Type       string           `json:"type,omitempty"`
	ModifiedAt time.Time        `json:"modified_at"`
}

// threadFiles are the files of threads, with all their versions.
type threadFiles struct{ past fileReader }

// fileReader is part of adapter.Threads.
type fileReader interface {
	ListFileVersions(ctx context.Context, threadID string) ([]adapter.FileVersion, error)
	OpenFileVersion(ctx context.Context, threadID string, version int64) (adapter.FileVersion, io.ReadSeekCloser, error)
}

func (f *threadFiles) list(ctx context.Context, thread string) ([]fileRow, error) {
	versions, err := f.past.ListFileVersions(ctx, thread)
	list := []fileRow{}
	for _, v := range versions {
		if len(list) == 0 || list[len(list)-1].Path != v.Path {
			list = append(list, fileRow{Path: v.Path})
		}
		last := &list[len(list)-1]
		last.Versions = append(last.Versions, versionRow{v.Version, v.Fate, v.RunID, v.AgentCreated, v.Size, v.MIMEType, v.ModifiedAt})
	}
	return list, err
}

// serve sends the bytes of a version, which a browser keeps as a file and never shows.
func (f *threadFiles) serve(w http.ResponseWriter, r *http.Request) error {
	vars := mux.Vars(r)
	version, err := strconv.ParseInt(vars["version"], 10, 64)
	if err != nil {
		return mapping.Errorf(mapping.NotFound, mapping.CodeArtifactNotFound, "A version of a file is named by a number.")
	}
	v, body, err := f.past.OpenFileVersion(r.Context(), vars["thread_id"], version)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }() // nothing was written
	mapping.AddAuditObject(r.Context(), "artifact", v.ID)
	keepAsFile(w.Header(), "application/octet-stream", path.Base(v.Path))
	err = adapter.ServeFile(w, r, v.Sum, body)
	if err != nil && mapping.Classify(err).Class != mapping.OutOfRange {
		panic(http.ErrAbortHandler) // part of it has left
	}
	return err
}

// keepAsFile has a browser save what is sent, and not show it.
func keepAsFile(h http.Header, kind, name string) {
	h.Set("Content-Type", kind)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	h.Set("Cache-Control", "private, no-store")
	name = strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f {
			return '_'
		}
		return c
	}, name)
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": name}))
}

// raw sends a value whole.
func raw(w http.ResponseWriter, kind, name string, value []byte) error {
	keepAsFile(w.Header(), kind, name)
	_, _ = w.Write(value) // the client may be gone
	return nil
}
