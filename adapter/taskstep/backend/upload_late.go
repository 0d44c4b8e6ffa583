package backend

import (
	"encoding/json"
	"io"
	"slices"

	"github.com/apbridge/apbridge/mapping"
)

// late uploads the files that clients have added since the last upload, even while a step was running. The step that
// receives them adds them to the state.
func (u *uploads) late() error {
	if u.past.last == nil && !u.assigned.Resume {
		return nil
	}
	list, err := u.assigned.Files.List(u.ctx)
	if err != nil {
		return err
	}
	u.files.load(list, u.assigned.Task.Uploaded.With(list...))
	list = slices.DeleteFunc(list, func(a mapping.Artifact) bool { return a.AgentCreated || u.assigned.Task.Uploaded.Has(a) })
	u.files.given = u.assigned.Task.Uploaded.With(list...)
	if err := u.send(list, nil); err != nil {
		return err
	}
	return u.layOut(list)
}

// layOut prepares uploads in the form of the state.
func (u *uploads) layOut(list []mapping.Artifact) error {
	u.inState = make(map[string]json.RawMessage, len(list))
	for _, a := range list {
		content, err := u.inline(a)
		if err != nil {
			return err
		}
		u.inState["/"+a.Path] = u.encode(a, content)
	}
	return nil
}

// inline returns the content of a file that is small enough for the state, or nil.
func (u *uploads) inline(a mapping.Artifact) ([]byte, error) {
	if a.Size > int64(u.up.Config.Artifacts.MaxInline) {
		return nil, nil
	}
	body, err := u.assigned.Files.Open(u.ctx, a.ID)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	return io.ReadAll(body)
}

// with adds the late uploads to the files that a step changed, which may be nil. If the step changed an uploaded file,
// the step's version takes precedence.
func (u *uploads) with(files json.RawMessage) json.RawMessage {
	if len(u.inState) == 0 {
		return files
	}
	all := map[string]json.RawMessage{}
	_ = json.Unmarshal(files, &all) // nil, or an object that the bridge wrote
	for path, value := range u.inState {
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
