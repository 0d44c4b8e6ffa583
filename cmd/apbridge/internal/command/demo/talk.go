package demo

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"golang.org/x/sync/errgroup"
)

// client is the demo's client of the bridge.
type client struct {
	base string
	t    *transcript
}

// conversations runs a conversation as a client of each protocol.
func (c *client) conversations(ctx context.Context) error {
	if err := c.forward(ctx); err != nil {
		return err
	}
	if err := c.reverse(ctx); err != nil {
		return err
	}
	return c.message(ctx)
}

// forward uses a task/step agent as a client of threads and runs.
func (c *client) forward(ctx context.Context) error {
	c.t.title("1. A thread/run client talks to a task/step agent",
		"The client uses threads, runs and streams. The agent uses tasks and steps, and\nforgets everything. The bridge keeps the thread and passes it to the agent.")
	runs, err := c.newThread(ctx)
	if err != nil {
		return err
	}
	var state struct {
		Messages []struct {
			Type    string `json:"type"`
			Content string `json:"content"`
		} `json:"messages"`
	}
	if err := c.call(ctx, "POST", runs+"/wait", run("legacy", "Write the word Washington"), &state); err != nil {
		return err
	}
	for _, m := range state.Messages {
		c.t.say("    %5s: %s\n", m.Type, m.Content)
	}
	c.t.say("\n  … the second turn, as a stream:\n\n")
	return c.call(ctx, "POST", runs+"/stream", run("legacy", "And now something else"), nil)
}

// newThread creates a thread and returns the path of its runs.
func (c *client) newThread(ctx context.Context) (runs string, err error) {
	var thread struct {
		ID string `json:"thread_id"`
	}
	err = c.call(ctx, "POST", "/threads", `{}`, &thread)
	return "/threads/" + thread.ID + "/runs", err
}

// examples makes a run that waits for an answer and one that fails. It prints nothing.
func (c *client) examples(ctx context.Context) (asks, fails string, err error) {
	c.t.mute(true)
	defer c.t.mute(false)
	both, ctx := errgroup.WithContext(ctx)
	both.Go(func() (err error) {
		asks, err = c.example(ctx, "Write a poem, but ask me for the topic first")
		return err
	})
	both.Go(func() (err error) {
		fails, err = c.example(ctx, "Write a report, then fail")
		return err
	})
	err = both.Wait()
	return asks, fails, err
}

// example runs the legacy agent on a new thread and returns the id of the run.
func (c *client) example(ctx context.Context, text string) (id string, err error) {
	runs, err := c.newThread(ctx)
	if err != nil {
		return "", err
	}
	if err := c.call(ctx, "POST", runs+"/wait", run("legacy", text), nil); err != nil {
		return "", err
	}
	var list []struct {
		ID string `json:"run_id"`
	}
	if err := c.call(ctx, "GET", runs, ``, &list); err != nil {
		return "", err
	}
	if len(list) != 1 {
		return "", fmt.Errorf("the example %q has %d runs", text, len(list))
	}
	return list[0].ID, nil
}

func run(agent, text string) string {
	return fmt.Sprintf(`{"assistant_id":%q,"input":{"messages":[{"role":"user","content":%q}]},"stream_mode":["updates"]}`, agent, text)
}

// reverse uses a graph as a client of tasks and steps, such as a benchmark.
func (c *client) reverse(ctx context.Context) error {
	c.t.title("2. A task/step client drives a thread/run agent",
		"The client, such as a benchmark, requests one step after another. The agent runs\na graph and streams its output. The bridge returns the output of each node as a step.")
	const tasks = "/agents/graph/ap/v1/agent/tasks"
	var task struct {
		ID string `json:"task_id"`
	}
	if err := c.call(ctx, "POST", tasks, `{"input":"What is a bridge?"}`, &task); err != nil {
		return err
	}
	for range maxDemoSteps {
		var step struct {
			Name   string `json:"name"`
			Output string `json:"output"`
			Last   bool   `json:"is_last"`
			More   struct {
				Error *struct{ Message string } `json:"error"`
			} `json:"additional_output"`
		}
		if err := c.call(ctx, "POST", tasks+"/"+task.ID+"/steps", ``, &step); err != nil {
			return err
		}
		c.t.say("    step %s: %s (last: %v)\n", step.Name, step.Output, step.Last)
		if step.More.Error != nil {
			return errors.New(step.More.Error.Message)
		}
		if step.Last {
			return nil
		}
	}
	return fmt.Errorf("the task did not end within %d steps", maxDemoSteps)
}

const maxDemoSteps = 10

// message uses a task/step agent as a client of A2A, such as another agent.
func (c *client) message(ctx context.Context) error {
	c.t.title("3. An A2A client sends a message to the task/step agent",
		"The client, such as another agent, sends a message and gets a task with artifacts.\nThe bridge keeps the task: the client can come back to it, even after a restart.")
	const message = `{"message":{"messageId":"m-1","role":"ROLE_USER","parts":[{"text":"Write a limerick"}]}}`
	var answer struct {
		Task struct {
			Status    struct{ State string }
			Artifacts []struct {
				Name  string
				Parts []struct{ Text string }
			}
		}
	}
	if err := c.call(ctx, "POST", "/a2a/legacy/message:send", message, &answer); err != nil {
		return err
	}
	for _, a := range answer.Task.Artifacts {
		for _, part := range a.Parts {
			c.t.say("    artifact %s: %s\n", a.Name, cmp.Or(part.Text, "(a file)"))
		}
	}
	c.t.say("    state: %s\n", answer.Task.Status.State)
	return nil
}

// call sends one request, prints it with its response, and decodes the response into v unless that is nil.
func (c *client) call(ctx context.Context, method, path, body string, v any) error {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader([]byte(body)))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	c.t.asked("client", "bridge", method, path, []byte(body))
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	c.t.answered("client", "bridge", res.StatusCode, answer)
	if res.StatusCode >= http.StatusBadRequest {
		return fmt.Errorf("%s %s: status %d: %s", method, path, res.StatusCode, answer)
	}
	if v == nil {
		return nil
	}
	return json.Unmarshal(answer, v)
}
