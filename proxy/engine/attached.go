package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"slices"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/mapping/state"
	"github.com/apbridge/apbridge/proxy/store/artifact"
)

// attached finds the artifacts that files within messages have become. A file is known by its name and its bytes: the
// same again is the same artifact, and other bytes under a name that is taken get a name of their own. So nothing has
// to be noted in a message, which stays as it was sent, and a message that is sent again brings nothing new.
type attached struct {
	list func() ([]mapping.Artifact, error) // of the thread
	fold *state.Fold                        // the state that holds the messages
	sums map[string]string                  // of the thread's artifacts by path; nil: not read yet
	err  error                              // the first that name came upon
}

// attached finds those in the messages of a state of a thread.
func (s *sources) attached(ctx context.Context, threadID string, fold *state.Fold) *attached {
	return &attached{fold: fold, list: func() ([]mapping.Artifact, error) {
		list, _, err := s.artifacts.List(ctx, threadID, 0, 0)
		return list, err
	}}
}

// Attached returns the files that messages bring to a thread by an update of its state, which is after then. list
// returns the thread's artifacts; it is called only where messages hold files.
func Attached(thread string, messages []json.RawMessage, after *state.Fold, list func() ([]mapping.Artifact, error)) (writes []artifact.FileWrite, err error) {
	files, err := (&attached{fold: after, list: list}).newFiles(messages)
	for _, f := range files {
		writes = append(writes, artifact.FileWrite{Content: f.Content, Artifact: mapping.Artifact{
			ID: rule.ArtifactID(thread, f.Path), Path: f.Path, MIMEType: f.MIMEType,
		}})
	}
	return writes, err
}

// name is where a held file stands among the thread's artifacts; "" where it is none.
func (a *attached) name(f rule.Attachment) string {
	path, _, _, there, err := a.place(f)
	if a.err == nil {
		a.err = err
	}
	if !there {
		return ""
	}
	return path
}

// place is where the file stands, or could stand; "" for one that cannot be read: the agent's dialect was not known
// when its run was made, so that nothing was refused.
func (a *attached) place(f rule.Attachment) (path, sum string, size int64, there bool, err error) {
	if err := a.load(); err != nil {
		return "", "", 0, false, err
	}
	digest := sha256.New()
	if size, err = io.Copy(digest, f.Open()); err != nil {
		return "", "", 0, false, nil
	}
	sum = hex.EncodeToString(digest.Sum(nil))
	for n := 1; ; n++ {
		path = f.Numbered(n)
		if was, taken := a.at(path); !taken || was == sum {
			return path, sum, size, taken, nil
		}
	}
}

func (a *attached) load() error {
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

// at is the sum of the file that the agent has under a path. What the state says of it counts, see runFiles.
func (a *attached) at(path string) (sum string, taken bool) {
	list := rule.FilesAt(a.fold, path)
	if len(list) == 1 && list[0].Reference == "" && !list[0].Deleted {
		return sumOf(list[0].Content), true
	}
	sum, taken = a.sums[path]
	return sum, taken
}

// newFiles are the files that messages bring, under the paths that they get.
func (a *attached) newFiles(messages []json.RawMessage) (list []rule.File, err error) {
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

// attach has the input's event bring the files in its messages. Those that the state has already are left alone,
// whatever has become of their files.
func (x *execution) attach(ctx context.Context, ev *mapping.Event) (err error) {
	if !holdsFiles(ev.Data) {
		return nil
	}
	after, err := x.rec.fold.Apply(ev)
	if err != nil {
		return err
	}
	x.rec.brought, err = x.works.sources.attached(ctx, x.Run.ThreadID, after).newFiles(ChangedMessages(x.rec.fold, ev.Data))
	return err
}

// ChangedMessages returns the messages of a delta that the state does not have with the same content.
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

// holdsFiles reports whether messages of a delta hold files.
func holdsFiles(delta json.RawMessage) bool {
	return slices.ContainsFunc(messagesOf(delta), func(m json.RawMessage) bool {
		return slices.ContainsFunc(rule.Attachments(m), rule.Attachment.Held)
	})
}
