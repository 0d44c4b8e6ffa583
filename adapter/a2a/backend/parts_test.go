package backend_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
)

// A link is on a line of its own, also in tokens. Texts of an artifact continue each other.
func TestALinkIsALineOfItsOwn(t *testing.T) {
	t.Parallel()
	link := event{"url": "http://e/x.png"}
	for name, c := range map[string]struct {
		events []event
		want   []string
	}{
		"whole": {[]event{artifact("a", event{"text": "one"}, link, event{"data": 1}, event{"text": "two "}, event{"text": "three"}, link)},
			[]string{"one\nhttp://e/x.png\ntwo three\nhttp://e/x.png"}},
		"in pieces": {[]event{piece("a", false, event{"text": "one"}), piece("a", true, link), piece("a", true, event{"text": ""}), piece("a", true, event{"text": "two "}), piece("a", true, event{"text": "three"})},
			[]string{"one\nhttp://e/x.png\ntwo three"}},
	} {
		task := saying("say")
		task.Run.Options.StreamModes = []string{"messages-tuple"}
		a := loose{&adaptertest.A2AAgent{}, func(events []event) []event {
			return append(append(events[:2], c.events...), status("COMPLETED", nil))
		}}
		tr := adaptertest.Collect(t.Context(), dial(t, a), task, 0)
		if got := texts(tr); tr.Err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: steps %q, %v", name, got, tr.Err)
		}
		if name == "in pieces" && !tr.Outputs()[0].Head.Streamed {
			t.Error("the tokens do not have the text")
		}
	}
}

// piece is an update of an artifact that goes on.
func piece(id string, more bool, parts ...any) event {
	ev := artifact(id, parts...)
	maps.Copy(within(ev, "artifactUpdate"), event{"append": more, "lastChunk": false})
	return ev
}

// Artifacts without ids are identified by their positions, in a stream and in the task.
func TestArtifactsWithoutIDs(t *testing.T) {
	t.Parallel()
	nameless := each(func(ev event) { delete(within(ev, "artifactUpdate", "artifact"), "artifactId") })
	for name, rewrite := range map[string]func([]event) []event{
		"stream": nameless,
		"stream with tasks": func(events []event) []event {
			list := tasksAfterArtifacts(events)
			for _, ev := range nameless(list) {
				if list, ok := within(ev, "task")["artifacts"].([]any); ok {
					for _, a := range list {
						delete(a.(event), "artifactId")
					}
				}
			}
			return list
		},
		"task": func(events []event) []event {
			return []event{{"task": event{"id": "task-1", "contextId": "c", "status": event{"state": "TASK_STATE_COMPLETED"}, "artifacts": []any{
				event{"parts": []any{event{"text": "first"}}}, event{"parts": []any{event{"text": "second"}}}, event{"parts": []any{event{"text": "third"}}},
			}}}}
		},
	} {
		tr := adaptertest.Collect(t.Context(), dial(t, loose{&adaptertest.A2AAgent{}, rewrite}), saying("say"), 0)
		if got := texts(tr); tr.Err != nil || !slices.Equal(got, []string{"first", "second", "third"}) {
			t.Errorf("%s: steps %q, %v", name, got, tr.Err)
		}
		ids := map[string]bool{}
		for _, ev := range tr.Outputs() {
			if _, id, ok := strings.Cut(string(ev.Head.Native), `"artifactId":"`); ok {
				ids[id[:strings.IndexByte(id, '"')]] = true
			}
		}
		if len(ids) != 3 {
			t.Errorf("%s: ids %v", name, ids)
		}
	}
}

// A file that is not base64 is named, and the rest of its task is read.
func TestAFileThatIsNotBase64IsNamed(t *testing.T) {
	t.Parallel()
	bad := func(ev event) {
		if list, ok := within(ev, "artifactUpdate", "artifact")["parts"].([]any); ok {
			within(ev, "artifactUpdate", "artifact")["parts"] = append(list, event{"raw": "secret!", "filename": "bad.bin"})
		}
	}
	tr := adaptertest.Collect(t.Context(), dial(t, loose{&adaptertest.A2AAgent{}, each(bad)}), saying("say"), 0)
	if got := texts(tr); tr.Err != nil || !slices.Equal(got, []string{"first", "second", "third"}) {
		t.Errorf("steps %q, %v", got, tr.Err)
	}
	for _, ev := range tr.Outputs() {
		if !strings.Contains(string(ev.Data), "bad.bin") || !strings.Contains(string(ev.Head.Native), "[bad.bin]") || strings.Contains(string(ev.Head.Native), "secret") {
			t.Errorf("update %s, artifact %s", ev.Data, ev.Head.Native)
		}
	}
}
