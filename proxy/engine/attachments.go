package engine

import (
	"context"
	"encoding/json"
	"io"
	"slices"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/mapping/state"
	"github.com/apbridge/apbridge/proxy/store/artifact"
)

// attachments finds the artifacts for files in messages. A file is identified by its name and its content. A file with
// the same name and different content gets another name. So messages are not changed, and a repeated message adds no
// artifact.
type attachments struct {
	list func() ([]mapping.Artifact, error) // of the thread
	fold *state.Fold                        // the state that has the messages
	sums map[string]string                  // of the thread's artifacts by path; nil if not read yet
	err  error                              // the first error of name
}

// attachments returns the attachments of the messages in the state of a thread.
func (e *Engine) attachments(ctx context.Context, threadID string, fold *state.Fold) *attachments {
	return &attachments{fold: fold, list: func() ([]mapping.Artifact, error) {
		list, _, err := e.store.Artifacts.List(ctx, threadID, 0, 0)
		return list, err
	}}
}

// Attached returns the files that the messages of a state update add to a thread. after is the state after the update.
// list returns the thread's artifacts and is called only if messages have files.
func Attached(thread string, messages []json.RawMessage, after *state.Fold, list func() ([]mapping.Artifact, error)) (writes []artifact.FileWrite, err error) {
	files, err := (&attachments{fold: after, list: list}).newFiles(messages)
	for _, f := range files {
		writes = append(writes, artifact.FileWrite{Content: f.Content, Artifact: mapping.Artifact{
			ID: rule.ArtifactID(thread, f.Path), Path: f.Path, MIMEType: f.MIMEType,
		}})
	}
	return writes, err
}

// name returns the path of a file among the thread's artifacts, or "" if it is not one of them.
func (a *attachments) name(f rule.Attachment) string {
	path, _, _, there, err := a.place(f)
	if a.err == nil {
		a.err = err
	}
	if !there {
		return ""
	}
	return path
}

// place returns the path of the file's artifact, or the path that a new artifact would get. It returns "" for an
// unreadable file. Such a file was not refused when the run was created because the agent's dialect was not known then.
func (a *attachments) place(f rule.Attachment) (path, sum string, size int64, there bool, err error) {
	if err := a.load(); err != nil {
		return "", "", 0, false, err
	}
	if sum, size, err = f.Sum(); err != nil {
		return "", "", 0, false, nil
	}
	for n := 1; ; n++ {
		path = f.Numbered(n)
		if was, taken := a.at(path); !taken || was == sum {
			return path, sum, size, taken, nil
		}
	}
}

func (a *attachments) load() error {
	if a.sums != nil {
		return nil
	}
	list, err := a.list()
	if err != nil {
		return err
	}
	a.sums = make(map[string]string, len(list))
	for _, f := range list {
		a.sums[f.Path] = f.Sum
	}
	return nil
}

// at returns the checksum of the file that the agent has at a path. The state takes precedence, see runFiles.
func (a *attachments) at(path string) (sum string, taken bool) {
	list := rule.FilesAt(a.fold, path)
	if len(list) == 1 && list[0].Reference == "" && !list[0].Deleted {
		return sumOf(list[0].Content), true
	}
	sum, taken = a.sums[path]
	return sum, taken
}

// newFiles returns the new files in messages, with the paths they get.
func (a *attachments) newFiles(messages []json.RawMessage) (list []rule.File, err error) {
	for _, m := range messages {
		for _, f := range rule.Attachments(m) {
			if !f.Held() {
				continue
			}
			path, sum, size, there, err := a.place(f)
			if err != nil {
				return nil, err
			}
			if there || path == "" {
				continue
			}
			content := make([]byte, size)
			if _, err := io.ReadFull(f.Open(), content); err != nil {
				return nil, err
			}
			a.sums[path] = sum
			list = append(list, rule.File{Path: path, Content: content, MIMEType: f.MIMEType})
		}
	}
	return list, nil
}

// attach adds the files in the messages of the input's event. Messages that are already in the state are skipped, even
// if their files no longer exist.
func (x *execution) attach(ctx context.Context, ev *mapping.Event) (err error) {
	if !holdsFiles(ev.Data) {
		return nil
	}
	after, err := x.rec.fold.Apply(ev)
	if err != nil {
		return err
	}
	x.rec.brought, err = x.e.attachments(ctx, x.Run.ThreadID, after).newFiles(ChangedMessages(x.rec.fold, ev.Data))
	return err
}

// ChangedMessages returns the messages of a delta that are not in the state with the same content.
func ChangedMessages(before *state.Fold, delta json.RawMessage) (list []json.RawMessage) {
	has := before.HasMessage()
	for _, m := range messagesOf(delta) {
		if has == nil || !has(state.IDOfMessage(m)) || !sameContent(before.Messages(), m) {
			list = append(list, m)
		}
	}
	return list
}

func sameContent(messages []json.RawMessage, m json.RawMessage) bool {
	at := slices.IndexFunc(messages, func(old json.RawMessage) bool { return state.IDOfMessage(old) == state.IDOfMessage(m) })
	return at >= 0 && rawjson.Equal(rawjson.Get(messages[at], "content"), rawjson.Get(m, "content"))
}

func messagesOf(delta json.RawMessage) []json.RawMessage {
	messages := rawjson.Get(delta, state.KeyMessages)
	if messages == nil {
		return nil
	}
	list, _ := state.MessagesIn(messages)
	return list
}

// holdsFiles reports whether messages of a delta contain files.
func holdsFiles(delta json.RawMessage) bool {
	return slices.ContainsFunc(messagesOf(delta), func(m json.RawMessage) bool {
		return slices.ContainsFunc(rule.Attachments(m), rule.Attachment.Held)
	})
}
