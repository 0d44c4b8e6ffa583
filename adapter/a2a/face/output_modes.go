package face

import (
	"slices"

	"github.com/apbridge/apbridge/adapter/a2a/wire"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

// outputModes removes parts of artifacts whose media types the client does not accept, unless nothing would be left. The
// metadata of the task, or of the status that closes a stream, lists the removed types. Not safe for concurrent use.
type outputModes struct {
	accepted []string // configuration.acceptedOutputModes; empty: everything
	omitted  []string
	kept     bool                   // a part was accepted
	sent     map[string]bool        // by id: a part of the artifact has been sent in this stream
	late     []*wire.StreamResponse // updates to send at the end if no part was accepted
}

func (m *sent) outputModes() *outputModes {
	o := &outputModes{sent: map[string]bool{}}
	if m.request.Configuration != nil {
		o.accepted = m.request.Configuration.AcceptedOutputModes
	}
	return o
}

// parts returns the accepted parts.
func (o *outputModes) parts(list wire.Parts) (accepted wire.Parts) {
	for _, p := range list {
		mode := mediaTypeOf(p)
		if fits(mode, o.accepted) {
			accepted, o.kept = append(accepted, p), true
		} else if !slices.Contains(o.omitted, mode) {
			o.omitted = append(o.omitted, mode)
		}
	}
	return accepted
}

func (o *outputModes) metadata() wire.Object {
	return wire.Object(new(rawjson.Writer).Open('{').Key("omittedOutputModes").Texts(o.omitted).Close('}').Bytes)
}

// task filters a task.
func (o *outputModes) task(t *wire.Task) {
	if len(o.accepted) == 0 {
		return
	}
	var kept []wire.Artifact
	for _, a := range t.Artifacts {
		if a.Parts = o.parts(a.Parts); len(a.Parts) > 0 {
			kept = append(kept, a)
			o.sent[a.ArtifactID] = true
		}
	}
	if len(o.omitted) > 0 && len(kept) > 0 {
		t.Artifacts, t.Metadata = kept, o.metadata()
	}
}

// update returns the frames of a stream for an update. Only the last one has a position of its own.
func (o *outputModes) update(u *wire.StreamResponse) []*wire.StreamResponse {
	switch {
	case len(o.accepted) == 0:
	case u.StatusUpdate != nil && u.StatusUpdate.Status.State.ClosesStream():
		frames := append(o.late, u)
		if o.late = nil; o.kept && len(o.omitted) > 0 {
			u.StatusUpdate.Metadata = o.metadata()
		}
		return frames
	case u.ArtifactUpdate != nil:
		return o.artifact(u.ArtifactUpdate)
	}
	return []*wire.StreamResponse{u}
}

func (o *outputModes) artifact(u *wire.TaskArtifactUpdateEvent) []*wire.StreamResponse {
	id := u.Artifact.ArtifactID
	if !u.Append {
		o.sent[id] = false
		o.late = slices.DeleteFunc(o.late, func(before *wire.StreamResponse) bool { return before.ArtifactUpdate.Artifact.ArtifactID == id })
	}
	accepted := o.parts(u.Artifact.Parts)
	switch {
	case o.kept:
		o.late = nil
	case len(accepted) == 0:
		o.late = append(o.late, &wire.StreamResponse{ArtifactUpdate: u})
	}
	if len(accepted) == 0 {
		return nil
	}
	u.Artifact.Parts = accepted
	u.Append = u.Append && o.sent[id] // nothing was sent to which it could be appended
	o.sent[id] = true
	return []*wire.StreamResponse{{ArtifactUpdate: u}}
}
