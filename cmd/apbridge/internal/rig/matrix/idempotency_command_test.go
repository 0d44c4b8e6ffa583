package matrix

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
)

// commands has commands that start a run on a thread whose agent has asked a question. {question} is the question's id
// and {head} that of the newest checkpoint.
var commands = map[string]struct{ body, other string }{
	"run.start, which answers": {`"assistant_id":"agent",` + rig.SaysHi, `"assistant_id":"agent","input":"no"`},
	"input.respond":            {`"interrupt_id":"{question}","response":"this"`, `"interrupt_id":"{question}","response":"that"`},
	"state.fork":               {`"checkpoint_id":"{head}","input":"this"`, `"checkpoint_id":"{head}","input":"no"`},
}

// TestIdempotencyKeysOfCommands checks that a command of the streaming protocol is executed once for a key, even if it
// is repeated under a new id when its question is no longer open.
func TestIdempotencyKeysOfCommands(t *testing.T) {
	t.Parallel()
	bridge := rig.InFront(t, askingAgent(), rig.Lockstep)
	for name, c := range commands {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := &rig.Bridge{T: t, URL: bridge.URL}
			at := aQuestion(b)
			state := b.Get(at + "/state").OK()
			fill := strings.NewReplacer("{question}", state.Text("tasks.0.interrupts.0.id"), "{head}", state.Text("checkpoint.checkpoint_id"))
			method, _, _ := strings.Cut(name, ",")
			send := func(id, params string) rig.Answer {
				a, err := b.Try(context.Background(), "POST", at+"/commands",
					`{"id":`+id+`,"method":"`+method+`","params":{`+fill.Replace(params)+`}}`, "Idempotency-Key", "key of "+name)
				if err != nil {
					a.T, a.Body = t, []byte(err.Error())
				}
				return a
			}
			answers := make([]rig.Answer, 6)
			var all sync.WaitGroup
			for i := range answers {
				all.Go(func() { answers[i] = send("1", c.body) })
			}
			all.Wait()
			for _, a := range append(answers, send("2", c.body)) {
				if a.OK().Text("type") != "success" || method != "input.respond" && a.Text("result.run_id") != answers[0].Text("result.run_id") {
					t.Errorf("first response %s, second %s", a.Body, answers[0].Body)
				}
			}
			if n := len(b.Get(at + "/runs").OK().List("")); n != 2 {
				t.Errorf("%d runs, want the interrupted one and another", n)
			}
			if a := send("3", c.other); a.Text("type") != "error" || !strings.Contains(string(a.Body), "Idempotency-Key") {
				t.Errorf("another command: %s", a.Body)
			}
		})
	}
}
