package a2a

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/google/go-cmp/cmp"
)

// TestQuestionsAreNoAnswers checks that a question is in the status while it is open, and in the history when it has been
// answered, but that it is never the answer of its task: not if the agent then fails, ends without a word, or answers with
// a file alone. The stream of the answer and the notifications agree with GetTask.
func TestQuestionsAreNoAnswers(t *testing.T) {
	t.Parallel()
	steps := func(then adaptertest.ScriptStep) http.Handler {
		return &adaptertest.StepAgent{Kind: adaptertest.Plain, Script: []adaptertest.ScriptStep{
			{Output: `"Which day?"`, Additional: `{"use_tool":{"name":"ask_user","args":{"question":"Which day?"}}}`}, then,
		}}
	}
	graph := func(then adaptertest.ThreadPlay) http.Handler {
		plays := []adaptertest.ThreadPlay{adaptertest.AskPlay(), then} // which begin with "planning" and ask "Send this mail?"
		words := strings.NewReplacer("planning", "Which day?", "Send this mail?", "Which day?")
		for _, play := range plays {
			for i, f := range play.Frames {
				play.Frames[i] = words.Replace(f)
			}
		}
		plays[0].State, plays[1].State = words.Replace(plays[0].State), words.Replace(plays[1].State)
		return &adaptertest.ThreadAgent{Plays: plays}
	}
	for name, x := range map[string]struct {
		dialect string
		agent   http.Handler
		state   string
		answers []string
	}{
		"steps, answered": {"taskstep", steps(adaptertest.ScriptStep{Output: `"Friday it is."`, Last: true}), "TASK_STATE_COMPLETED", []string{"Friday it is."}},
		"steps, failed":   {"taskstep", steps(adaptertest.ScriptStep{Fault: adaptertest.HTML500, Last: true}), "TASK_STATE_FAILED", nil},
		"steps, silent":   {"taskstep", steps(adaptertest.ScriptStep{Last: true}), "TASK_STATE_COMPLETED", nil},
		"steps, a file":   {"taskstep", steps(adaptertest.ScriptStep{Files: [][2]string{{"day.txt", "Friday"}}, Last: true}), "TASK_STATE_COMPLETED", []string{"RnJpZGF5"}},
		"graph, failed":   {"threadrun", graph(adaptertest.FailPlay()), "TASK_STATE_FAILED", nil},
		"graph, answered": {"threadrun", graph(adaptertest.ChatPlay()), "TASK_STATE_COMPLETED", []string{"the answer is 42"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := receives(t)
			c := client{rig.Configured(t, `
webhooks: {allow_private_networks: true}
agents: {agent: {url: $AGENT, dialect: `+x.dialect+`}}
`, map[string]http.Handler{"agent": x.agent}), "agent"}
			send := strings.TrimSuffix(message("m-1", "Book it", ""), "}") + `,"configuration":{"taskPushNotificationConfig":{"url":"` + r.URL + `"}}}`
			asked := c.call("SendMessage", send).Want(t, 200, "TASK_STATE_INPUT_REQUIRED")
			task := asked.Text("result.task.id")
			if got := asked.Text("result.task.status.message.parts.0.text"); got != "Which day?" {
				t.Errorf("the question is %q", got)
			}
			if list := asked.List("result.task.artifacts"); len(list) > 0 || strings.Count(asked.String(), `"text":"Which day?"`) != 1 {
				t.Errorf("the question is more than the status: %s", asked.Body)
			}
			frames := c.stream("SendStreamingMessage", message("m-2", "Friday", `,"taskId":"`+task+`"`), 0)
			got, end := added(t, nil, frames), c.task(task)
			if diff := cmp.Diff(sumOf(t, end), got, cmp.AllowUnexported(sum{})); diff != "" {
				t.Errorf("(-GetTask +stream):\n%s", diff)
			}
			if got.state != x.state || !slices.Equal(textsOf(got), x.answers) {
				t.Errorf("the task is %s with the artifacts %q", got.state, textsOf(got))
			}
			var said []string
			for _, m := range end.List("result.history") {
				said = append(said, rig.TextOf(rig.Dig(m, "parts.0.text")))
			}
			if i := slices.Index(said, "Which day?"); i < 0 || i+1 >= len(said) || said[i+1] != "Friday" || slices.Contains(said[i+1:], "Which day?") {
				t.Errorf("the history is %q", said)
			}
			for {
				_, v := r.next(t)
				if rig.Dig(v, "task") == nil {
					continue
				}
				list, _ := rig.Dig(v, "task.artifacts").([]any)
				for _, a := range list {
					if text := rig.TextOf(rig.Dig(a, "parts.0.text")); !slices.Contains(x.answers, text) {
						t.Errorf("the answer %q is pushed", text)
					}
				}
				break
			}
		})
	}
}
