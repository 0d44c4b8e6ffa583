package backend

import (
	"encoding/json"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/mapping"
	"github.com/google/go-cmp/cmp"
)

// TestQuestionsWithoutIDs checks that questions without ids have the same ids in their event and in the outcome, even
// if the process dies after any event.
func TestQuestionsWithoutIDs(t *testing.T) {
	t.Parallel()
	play := adaptertest.NamelessPlay()
	for name, play := range map[string]adaptertest.ThreadPlay{"a frame asks": play, "none does": unasked(adaptertest.NamelessPlay())} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := scripted(t, playing(play))
			task := adaptertest.NewTask(nil)
			whole := adaptertest.Collect(within(t), b, task, 0)
			event, end := onlyQuestion(t, whole), whole.End().Interrupts
			if len(end) != 1 || end[0].ID != event.ID || !end[0].Nameless || event.ID != mapping.InterruptID(task.Run.ID, 0) {
				t.Errorf("asked as %+v, the run ends with %+v", event, end)
			}
			for n, ev := range whole.Events {
				died := adaptertest.Trace{Events: whole.Events[:n]}
				if linkOf(died).RemoteRun == "" {
					continue
				}
				next := task
				next.InDoubt, next.After, next.Link = true, died.Events, linkOf(died)
				if tr := adaptertest.Collect(within(t), b, next, 0); tr.Err != nil || cmp.Diff(ids(asked(whole)), ids(asked(tr))) != "" {
					t.Errorf("died after event %d: %v, %s, want %s", n, tr.Err, asked(tr), asked(whole))
				}
				if ev.WithEnd {
					break
				}
			}
		})
	}
}

// onlyQuestion returns the only question in events.
func onlyQuestion(t *testing.T, tr adaptertest.Trace) mapping.Interrupt {
	t.Helper()
	var list []mapping.Interrupt
	for _, ev := range tr.Events {
		list = append(list, ev.Head.Interrupts...)
	}
	if len(list) != 1 || tr.Err != nil {
		t.Fatalf("questions %+v, %v", list, tr.Err)
	}
	return list[0]
}

// ids removes the text after the ids of questions.
func ids(asked []string) []string {
	short := make([]string, len(asked))
	for i, q := range asked {
		short[i] = q[:32]
	}
	return short
}

// TestNamerFindsQuestionsByTheirValues checks that questions without ids are matched by value, in any order and form of
// a state. A question that was in no frame is new.
func TestNamerFindsQuestionsByTheirValues(t *testing.T) {
	t.Parallel()
	task := adaptertest.NewTask(nil)
	tr := &translator{job: &job{t: &task}, askers: map[string]string{}}
	for _, value := range []string{`"red?"`, `{"a":1,"b":2}`, `"red?"`} {
		tr.told.asked = append(tr.told.asked, tr.asks(interruptWire{Value: json.RawMessage(value)}))
	}
	n := tr.questionIDs()
	for i, c := range []struct {
		value string
		want  int
	}{{`{"b":2, "a":1}`, 1}, {`"red?"`, 0}, {`"blue?"`, 3}, {`"red?"`, 2}, {`"red?"`, 4}} {
		if got, want := n.id(interruptWire{Value: json.RawMessage(c.value)}), mapping.InterruptID(task.Run.ID, c.want); got != want {
			t.Errorf("question %d, %s: %s, want %s", i, c.value, got, want)
		}
	}
	if got := n.id(interruptWire{OldID: "own"}); got != "own" {
		t.Errorf("a question with an id is %s", got)
	}
}

// TestAnswerToAQuestionWithoutAnID checks that a server without ids never receives an id, even with an empty answer.
func TestAnswerToAQuestionWithoutAnID(t *testing.T) {
	t.Parallel()
	nameless, own := mapping.Interrupt{ID: "a", Nameless: true}, mapping.Interrupt{ID: "a"}
	for _, c := range []struct {
		asked        mapping.Interrupt
		answer, told string
	}{
		{nameless, `{"a":"blue"}`, `"blue"`}, {nameless, `"blue"`, `"blue"`}, {nameless, `{"a":null}`, `null`}, {nameless, `null`, `null`},
		{nameless, `{"b":1}`, `{"b":1}`},
		{own, `{"a":"blue"}`, `{"a":"blue"}`}, {own, `null`, `{"a":null}`},
	} {
		task := adaptertest.NewTask(nil)
		task.Run.Options.Resume, task.Run.Options.Asked = json.RawMessage(c.answer), []mapping.Interrupt{c.asked}
		if got := string(requests{&job{t: &task}}.answer()); got != c.told {
			t.Errorf("%s to %+v is sent as %s, want %s", c.answer, c.asked, got, c.told)
		}
	}
}

// TestQuestionOfAPlainServer checks that a question is yielded once in an event and ends the run, for every kind of
// plain server.
func TestQuestionOfAPlainServer(t *testing.T) {
	t.Parallel()
	const frame = `event: updates` + "\n" + `data: {"__interrupt__":[{"value":"Which?"}]}` + "\n\n"
	for name, stream := range map[string]string{"a frame": plainStream + frame, "the result": plainStream, "no stream": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr, _ := plainRun(t, &plainAgent{stream: stream, status: "interrupted", asks: `{"value":"Which?"}`})
			if event, end := onlyQuestion(t, tr), tr.End().Interrupts; len(end) != 1 || end[0].ID != event.ID || !end[0].Nameless || string(event.Value) != `"Which?"` {
				t.Errorf("asked as %+v, the run ends with %+v", event, end)
			}
		})
	}
}
