package backend

import (
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/mapping"
)

// Agents in Python write NaN and Infinity in frames and responses. They are read as null and do not fail the run.
func TestNaNOfAGraphIsNull(t *testing.T) {
	t.Parallel()
	for name, play := range map[string]adaptertest.ThreadPlay{"the stream tells the end": adaptertest.ChatPlay(), "the state does": shortPlay(func(*adaptertest.ThreadPlay) {})} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for i, f := range play.Frames {
				f = strings.Replace(f, `updates {"answer":{`, `updates {"answer":{"score":NaN,"most":-Infinity,"text":"NaN",`, 1)
				f = strings.Replace(f, `values {`, `values {"score":NaN,`, 1)
				play.Frames[i] = strings.Replace(f, `"values":{`, `"values":{"score":NaN,`, 1)
			}
			play.State = strings.Replace(play.State, `"values":{`, `"values":{"score":Infinity,`, 1)
			tr := run(t, playing(play), adaptertest.NewTask(nil))
			if tr.Err != nil || tr.End() == nil || tr.End().Status != mapping.RunSuccess {
				t.Fatalf("error %v, end %+v", tr.Err, tr.End())
			}
			answer := tr.Outputs()[2]
			if data := string(answer.Data); !strings.HasPrefix(data, `{"score":null,"most":null,"text":"NaN",`) {
				t.Errorf("output %s", data)
			}
			for _, ev := range tr.Events {
				if ev.Kind == mapping.KindState && ev.Head.Full && !strings.HasPrefix(string(ev.Data), `{"score":null,`) {
					t.Errorf("state %s", ev.Data)
				}
			}
		})
	}
}
