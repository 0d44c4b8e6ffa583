// Package taskstep has the checks of the AI-Engineer-Foundation Agent Protocol v1: tasks, steps and artifacts, by its
// openapi.yml. Package conformance runs it. It knows no extension of the bridge.
package taskstep

import (
	"net/http"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/conformance/check"
)

const (
	tasks    = "/ap/v1/agent/tasks"
	document = "Agent Protocol v1 (openapi.yml)"
	// mostSteps is how many steps a task is driven, at the most.
	mostSteps = 25
	// prompt is what agents are asked to do. It is cheap, and gives them no reason to ask back.
	prompt = "Write the word Washington to a file with the ending .txt"
	nobody = "00000000-0000-4000-8000-00000000c0de"
)

// Suite returns the checks of version 1.
func Suite() check.Suite {
	return check.Suite{Name: "v1", Title: "Agent Protocol v1", Speaks: speaks, Begin: begin}
}

func speaks(t *check.Talk) bool {
	a := t.Get(tasks)
	_, known := a.At("tasks").([]any)
	return a.Status == http.StatusOK && known && !t.Over()
}

// suite is what several checks look at.
type suite struct {
	task   check.Once[check.Answer]   // that is not driven
	second check.Once[check.Answer]   // so that there are two pages
	driven check.Once[drive]          // to its end
	steps  check.Once[check.Answer]   // the list of the driven task's
	upload check.Once[check.Answer]   // to task
	listed check.Once[[]check.Answer] // pages of one task each
}

// drive is a task with the answers to its steps.
type drive struct {
	task  string
	steps []check.Answer
}

func begin() []check.Check {
	s := &suite{}
	var all []check.Check
	for _, group := range [][]check.Check{s.taskChecks(), s.pageChecks(), s.stepChecks(), s.artifactChecks(), s.invalidChecks()} {
		all = append(all, group...)
	}
	return all
}

func cites(section string) check.Citation {
	return check.Citation{Document: document, Section: section}
}

// The schemas of the document.
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

func (s *suite) make(t *check.Talk) check.Answer {
	a := t.Post(tasks, map[string]any{"input": prompt, "additional_input": map[string]any{"checked": true}}).Is(http.StatusOK)
	a.ID("task_id")
	return a
}

// named is an object with an id. What else it has to have is for one check to say.
func named(id string) check.Shape { return check.Object(check.Members{id: check.Text}, nil) }

// aTask is a task that other checks look at.
func (s *suite) aTask(t *check.Talk) string {
	return s.task.Need(t, "task", s.make).In(t).ID("task_id")
}

// drive asks for steps as agbenchmark does, without a body, until one is the last.
func (s *suite) drive(t *check.Talk) drive {
	s.aTask(t)
	d := drive{task: s.make(t).ID("task_id")}
	for len(d.steps) < mostSteps && !t.Over() {
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

func (s *suite) aDrive(t *check.Talk) drive { return s.driven.Need(t, "step", s.drive) }

func step(task, body string) check.Request {
	return check.Request{Method: http.MethodPost, Path: tasks + "/" + task + "/steps", Type: "application/json", Body: body}
}
