package rule

import (
	"fmt"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

func TestStepUpdateNamesSkippedFiles(t *testing.T) {
	t.Parallel()
	files := []mapping.SkippedFile{{Path: "a.txt", Remote: "r1", Reason: "gone"}, {Reason: "no list"}}
	const list = `[{"path":"a.txt","upstream_artifact_id":"r1","reason":"gone"},{"reason":"no list"}]`
	for name, c := range map[string]struct{ output, additional, text, want string }{
		"words":       {`"done"`, ``, "done", `{"skipped_files":` + list + `}`},
		"no words":    {``, `{"k":1}`, "", `{"k":1,"skipped_files":` + list + `}`},
		"empty words": {`""`, ``, "", `{"skipped_files":` + list + `}`},
		"an object":   {`{"a":1}`, ``, `{"a":1}`, `{"skipped_files":` + list + `}`},
		"from a bridge": {`"done"`, `{"skipped_files":[{"path":"b","reason":"late"}]}`, "done",
			`{"skipped_files":[{"path":"b","reason":"late"},` + list[1:] + `}`},
	} {
		info := mapping.StepInfo{Skipped: files}
		if c.output != "" {
			info.Output = asRaw(c.output)
		}
		if c.additional != "" {
			info.Additional = asRaw(c.additional)
		}
		ev := StepUpdate(someRun, someTask, 3, info, nil, mapping.ApprovalAuto)
		message := rawjson.Get(ev.Data, "messages")
		if want := "[" + ai(mapping.StepID(someTask, 3), c.text, `{"apbridge":`+c.want+`}`) + "]"; c.text != `{"a":1}` && string(message) != want {
			t.Errorf("%s: message %s\nwant %s", name, message, want)
		}
		if said, more := StepSaid(&ev); compacted(said) != c.output || string(more) != c.want {
			t.Errorf("%s: StepSaid gave %s, %s", name, said, more)
		}
		if list, _ := rawjson.Elements(message); SaysOnlySkipped(list[0]) != (c.text == "") {
			t.Errorf("%s: SaysOnlySkipped of %s", name, list[0])
		}
	}
}

func TestSkippedFilesAreBounded(t *testing.T) {
	t.Parallel()
	var files []mapping.SkippedFile
	for i := range 250 {
		files = append(files, mapping.SkippedFile{Path: fmt.Sprint(i), Reason: "gone"})
	}
	list, _ := rawjson.Elements(rawjson.Get(withSkipped(nil, files), keySkipped))
	if len(list) != 101 || !strings.Contains(string(list[100]), "150 more") {
		t.Errorf("%d entries, the last is %s", len(list), list[len(list)-1])
	}
}

// TestLastAnswerIgnoresSkippedFiles checks that a message that only names files is not the agent's last answer.
func TestLastAnswerIgnoresSkippedFiles(t *testing.T) {
	t.Parallel()
	fold := foldOf(t, `{"messages":[`+ai("1", "the answer", "{}")+`,`+ai("2", "", `{"apbridge":{"skipped_files":[]}}`)+`]}`)
	if got := lastAnswer(fold); got != "the answer" {
		t.Errorf("the last answer is %q", got)
	}
}
