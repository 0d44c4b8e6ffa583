package backend

import (
	"encoding/json"
	"io"
	"slices"

	"github.com/apbridge/apbridge/mapping"
)

// uploadLate hands over what clients uploaded since the files were last handed
// over, also while a step was under way. The step they are there for brings them
// into the state.
func (d *drive) uploadLate() error {
	if d.lastLog == nil && !d.task.Resume {
		return nil
	}
	list, err := d.task.Files.List(d.ctx)
	if err != nil {
		return err
	}
	d.files.load(list, d.task.Uploaded.With(list...))
	list = slices.DeleteFunc(list, func(a mapping.Artifact) bool { return a.AgentCreated || d.task.Uploaded.Has(a) })
	d.given = d.task.Uploaded.With(list...)
	if err := d.uploadExcept(list, nil); err != nil {
		return err
	}
	return d.state(list)
}

// state lays out uploads as they stand in the state.
func (d *drive) state(list []mapping.Artifact) error {
	d.late = make(map[string]json.RawMessage, len(list))
	for _, a := range list {
		content, err := d.inline(a)
		if err != nil {
			return err
		}
		d.late["/"+a.Path] = d.encode(a, content)
	}
	return nil
}

// inline is the content of a file that is small enough for the state, nil for
// one that is not.
func (d *drive) inline(a mapping.Artifact) ([]byte, error) {
	if a.Size > int64(d.up.Config.Artifacts.MaxInline) {
		return nil, nil
	}
	body, err := d.task.Files.Open(d.ctx, a.ID)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	return io.ReadAll(body)
}

// withLate adds the late uploads to the files that a step changed, nil for none.
// What the step made of such a file counts.
func (d *drive) withLate(files json.RawMessage) json.RawMessage {
	if len(d.late) == 0 {
		return files
	}
	all := map[string]json.RawMessage{}
	_ = json.Unmarshal(files, &all) // nothing, or an object of ours
	for path, value := range d.late {
		if _, changed := all[path]; !changed {
			all[path] = value
		}
	}
	raw, err := json.Marshal(all)
	if err != nil {
		return files
	}
	return raw
}
