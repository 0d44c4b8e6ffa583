// Package taskstep checks the Agent Protocol of the AI Engineer Foundation: version 1 as specified by its openapi.yml
// (V1), and the Topic RFC (Topics). Package conformance runs it. It knows no extension of the bridge.
package taskstep

import (
	"net/http"
	"slices"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/conformance/check"
)

const (
	v1Doc check.Document = "Agent Protocol v1 (openapi.yml)"

	tasks    = "/ap/v1/agent/tasks"
	maxSteps = 25 // of one task
	// prompt is cheap to process and gives the agent no reason to ask a question.
	prompt = "Write the word Washington to a file with the ending .txt"
	nobody = "00000000-0000-4000-8000-00000000c0de" // an unknown id
)

// V1 returns the checks of tasks, steps and artifacts.
func V1() check.Suite {
	return check.Suite{Name: "v1", Title: "Agent Protocol v1", Speaks: speaksV1, Begin: beginV1}
}

func speaksV1(t *check.Talk) bool {
	a := t.Get(tasks)
	_, known := a.At("tasks").([]any)
	return a.Status == http.StatusOK && known && !t.Over()
}

type v1Suite struct {
	task   check.Once[check.Answer]   // without steps, except by v1.step.input
	second check.Once[check.Answer]   // so that there are two pages
	driven check.Once[drive]          // another task, executed to its end
	steps  check.Once[check.Answer]   // the list of the driven task's steps
	upload check.Once[check.Answer]   // to task
	listed check.Once[[]check.Answer] // pages of one task each
}

// drive holds a task and the responses to its steps.
type drive struct {
	task  string
	steps []check.Answer
}

func beginV1() []check.Check {
	s := &v1Suite{}
	return slices.Concat(s.taskChecks(), s.pageChecks(), s.stepChecks(), s.artifactChecks(), s.invalidChecks())
}

// Schemas of the document.
var (
	artifact = check.Object(
		check.Members{"artifact_id": check.Text, "agent_created": check.Flag, "file_name": check.Text},
		check.Members{"relative_path": check.OrNull(check.Text)})
	taskShape = check.Object(
		check.Members{"task_id": check.Text, "artifacts": check.List(artifact)},
		check.Members{"input": check.OrNull(check.Text), "additional_input": check.AnObject})
	stepShape = check.Object(
		check.Members{
			"step_id": check.Text, "task_id": check.Text, "is_last": check.Flag, "artifacts": check.List(artifact),
			"status": check.OneOf("created", "running", "completed"),
		},
		check.Members{
			"input": check.OrNull(check.Text), "additional_input": check.AnObject, "name": check.OrNull(check.Text),
			"output": check.OrNull(check.Text), "additional_output": check.OrNull(check.AnObject),
		})
	pagination = check.Object(check.Members{
		"total_items": check.Integer, "total_pages": check.Integer, "current_page": check.Integer, "page_size": check.Integer,
	}, nil)
	notFound = check.Object(check.Members{"message": check.Text}, nil)
)

func page(name string, of check.Shape) check.Shape {
	return check.Object(check.Members{name: check.List(of), "pagination": pagination}, nil)
}

func (s *v1Suite) make(t *check.Talk) check.Answer {
	a := t.Post(tasks, map[string]any{"input": prompt, "additional_input": map[string]any{"checked": true}}).Is(http.StatusOK)
	a.ID("task_id")
	return a
}

// named requires only an id, so that any other fault of an object fails one check instead of many.
func named(id string) check.Shape { return check.Object(check.Members{id: check.Text}, nil) }

func (s *v1Suite) aTask(t *check.Talk) string {
	return s.task.Need(t, "task", s.make).In(t).ID("task_id")
}

// drive requests steps without a body, as agbenchmark does, until one is the last.
func (s *v1Suite) drive(t *check.Talk) drive {
	s.aTask(t)
	d := drive{task: s.make(t).ID("task_id")}
	for len(d.steps) < maxSteps && !t.Over() {
		a := t.Send(step(d.task, "")).Is(http.StatusOK)
		if a.ID("step_id"); t.Over() {
			break
		}
		d.steps = append(d.steps, a)
		if a.At("is_last") == true {
			break
		}
	}
	return d
}

func (s *v1Suite) aDrive(t *check.Talk) drive { return s.driven.Need(t, "step", s.drive) }

func step(task, body string) check.Request {
	return check.Request{Method: http.MethodPost, Path: tasks + "/" + task + "/steps", Type: "application/json", Body: body}
}
