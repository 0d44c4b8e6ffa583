package a2a

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

// served is a bridge in front of agents of each kind: steps makes three steps and writes a file, asks is a task/step
// agent that asks its user, chat is a graph, ask a graph that asks, fail one that fails.
func served(t *testing.T, more string) *rig.Bridge {
	t.Helper()
	asks := &adaptertest.StepAgent{Kind: adaptertest.Plain, Script: []adaptertest.ScriptStep{
		{Output: `"Which day?"`, Additional: `{"thoughts":{"speak":"Which day?"},"use_tool":{"name":"ask_user","args":{"question":"Which day?"}}}`},
		{Output: `"Friday it is."`, Last: true},
	}}
	plays := func(list ...adaptertest.ThreadPlay) http.Handler { return &adaptertest.ThreadAgent{Plays: list} }
	return rig.Configured(t, `
default_agent: steps
`+more+`
webhooks: {allow_private_networks: true}
agents:
  steps: {url: $STEPS, dialect: taskstep}
  asks: {url: $USER, dialect: taskstep}
  chat: {url: $CHAT, dialect: threadrun}
  ask: {url: $GRAPHASKS, dialect: threadrun}
  fail: {url: $FAIL, dialect: threadrun}
  hang: {url: $HANG, dialect: threadrun}
`, map[string]http.Handler{
		"steps": adaptertest.NewStepAgent(adaptertest.Plain), "user": asks, "chat": plays(adaptertest.ChatPlay(), rig.SecondPlay()),
		"graphasks": plays(adaptertest.AskPlay(), adaptertest.ChatPlay()), "fail": plays(adaptertest.FailPlay()), "hang": plays(adaptertest.HangPlay()),
	})
}

// TestConversations plays testdata/*.txtar: a file for each request, followed by one with its response. Ids are numbered
// in the order in which they appear: {1} in a request stands for the first. Times, addresses and the places of events are
// replaced.
func TestConversations(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatal("no conversations", err)
	}
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			play(t, name)
		})
	}
}

func play(t *testing.T, name string) {
	want, err := txtar.ParseFile(name)
	if err != nil {
		t.Fatal(err)
	}
	b := served(t, "")
	ids := &numbered{}
	got := &txtar.Archive{Comment: want.Comment}
	for _, file := range want.Files {
		request, ok := strings.CutSuffix(file.Name, " >")
		if !ok {
			continue
		}
		answer := ask(b, ids.fill(string(file.Data)))
		got.Files = append(got.Files, file, txtar.File{Name: request + " <", Data: []byte(ids.hide(b, answer))})
	}
	if len(got.Files) == 0 {
		t.Fatal("no requests in " + name)
	}
	if *rig.Update {
		if err := os.WriteFile(name, txtar.Format(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(txtar.Format(want)), string(txtar.Format(got))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// shownHeaders are the headers that clients depend on.
var shownHeaders = []string{"Allow", "A2a-Extensions", "Content-Type", "X-Apbridge-Unsupported"}

// ask sends a request in the form of HTTP/1.1 and returns its response in that form.
func ask(b *rig.Bridge, text string) string {
	head, body, _ := strings.Cut(text, "\n\n")
	lines := strings.Split(strings.TrimSuffix(head, "\n"), "\n")
	method, path, _ := strings.Cut(lines[0], " ")
	headers := []string{}
	for _, line := range lines[1:] {
		name, value, _ := strings.Cut(line, ": ")
		headers = append(headers, name, value)
	}
	a, frames := b.Stream(method, path, strings.TrimSuffix(body, "\n"), 0, headers...)
	var out strings.Builder
	fmt.Fprintf(&out, "%d\n", a.Status)
	for _, name := range shownHeaders {
		if v := a.Header.Get(name); v != "" {
			fmt.Fprintf(&out, "%s: %s\n", name, v)
		}
	}
	out.WriteString("\n")
	if len(a.Body) > 0 {
		fmt.Fprintf(&out, "%s\n", a.Body)
	}
	for _, f := range frames {
		if f.Event != "" {
			fmt.Fprintf(&out, "event: %s\n", f.Event)
		}
		fmt.Fprintf(&out, "id: %s\n%s\n", f.ID, f.Data)
	}
	return out.String()
}

var (
	uuids  = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\b[0-9a-f]{32}\b`)
	times  = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`)
	places = regexp.MustCompile(`(?m)(^id: |"seq":)\d+(\.\d+)?`) // of events; a slow machine logs more of them
	fields = regexp.MustCompile(`\{\d+\}`)
)

// numbered are the ids of a conversation in the order of their appearance.
type numbered struct{ ids []string }

func (n *numbered) fill(text string) string {
	return fields.ReplaceAllStringFunc(text, func(s string) string {
		var i int
		fmt.Sscanf(s, "{%d}", &i)
		return n.ids[i-1]
	})
}

func (n *numbered) hide(b *rig.Bridge, text string) string {
	text = strings.ReplaceAll(times.ReplaceAllString(text, "TIME"), b.URL, "http://bridge")
	text = places.ReplaceAllString(text, "${1}SEQ")
	return uuids.ReplaceAllStringFunc(text, func(id string) string {
		i := slices.Index(n.ids, id)
		if i < 0 {
			n.ids = append(n.ids, id)
			i = len(n.ids) - 1
		}
		return fmt.Sprintf("{%d}", i+1)
	})
}
