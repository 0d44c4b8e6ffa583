package taskstep

import (
	"net/http"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/conformance/check"
)

const (
	stepsOf = tasks + "/{task_id}/steps"
	stepOf  = stepsOf + "/{step_id}"
)

func (s *v1Suite) stepChecks() []check.Check {
	return append([]check.Check{
		{ID: "v1.step.execute", Level: check.Must, Says: "A step can be executed without a request body.", Cites: v1Doc.At("POST " + stepsOf + ", 200; requestBody, which is not required; schema Step, step_id"),
			Run: func(t *check.Talk) { s.driven.Own(t, s.drive) }},
		{ID: "v1.step.execute.schema", Level: check.Must, Says: "Executing a step returns a Step.", Cites: v1Doc.At("POST " + stepsOf + ", 200; schema Step"),
			Run: func(t *check.Talk) {
				for _, a := range s.aDrive(t).steps {
					if a = a.In(t); !t.Over() {
						a.Fits(stepShape)
					}
				}
			}},
		{ID: "v1.step.task", Level: check.Must, Says: "A step has the id of its task.", Cites: v1Doc.At("schema Step, task_id"),
			Run: func(t *check.Talk) {
				d := s.aDrive(t)
				for _, a := range d.steps {
					if id := a.In(t).Text("task_id"); id != d.task {
						t.Fail("the task_id is %q, not %q", id, d.task)
					}
				}
			}},
		{ID: "v1.step.ids", Level: check.Must, Says: "The steps of a task have distinct ids.", Cites: v1Doc.At("schema Step, step_id; GET " + stepOf),
			Run: func(t *check.Talk) {
				had := map[string]bool{}
				for _, a := range s.aDrive(t).steps {
					if id := a.In(t).Text("step_id"); had[id] {
						t.Fail("two steps have the id %q", id)
					} else {
						had[id] = true
					}
				}
			}},
		{ID: "v1.step.completed", Level: check.Should, Says: "An executed step has the status completed.", Cites: v1Doc.At("POST " + stepsOf + ", 200, description; schema Step, status"),
			Run: func(t *check.Talk) {
				for _, a := range s.aDrive(t).steps {
					if status := a.In(t).Text("status"); status != "completed" && !t.Over() {
						t.Fail("the status is %q", status)
					}
				}
			}},
		{ID: "v1.step.last", Level: check.Should, Says: "The last step of a task has is_last set.", Cites: v1Doc.At("schema Step, is_last"),
			Run: func(t *check.Talk) {
				steps := s.aDrive(t).steps
				if !t.Over() && steps[len(steps)-1].At("is_last") != true {
					t.Skip("the agent had not ended after %d steps", len(steps))
				}
			}},
		{ID: "v1.step.input", Level: check.Must, Says: "A step accepts an input.", Cites: v1Doc.At("POST " + stepsOf + ", 200; schema StepRequestBody"),
			Run: func(t *check.Talk) {
				s.aDrive(t)
				t.Send(step(s.aTask(t), `{"input":"`+prompt+`"}`)).Is(http.StatusOK).ID("step_id")
			}},
		{ID: "v1.step.unknown-task", Level: check.Must, Says: "Executing a step of an unknown task returns 404 with a message.", Cites: v1Doc.At("POST " + stepsOf + ", 404; response NotFound"),
			Run: func(t *check.Talk) {
				s.aTask(t)
				t.Send(step(nobody, "")).Is(http.StatusNotFound).Fits(notFound)
			}},
	}, s.stepReadChecks()...)
}

func (s *v1Suite) stepReadChecks() []check.Check {
	return []check.Check{
		{ID: "v1.step.list", Level: check.Must, Says: "Listing a task's steps returns them with pagination.", Cites: v1Doc.At("GET " + stepsOf + ", 200; schema TaskStepsListResponse"),
			Run: func(t *check.Talk) { s.steps.Own(t, s.listSteps) }},
		{ID: "v1.step.list.size", Level: check.Must, Says: "A page of steps has at most page_size entries.", Cites: v1Doc.At("GET " + stepsOf + ", parameter page_size"),
			Run: func(t *check.Talk) {
				s.steps.Need(t, "list of steps", s.listSteps)
				d := s.aDrive(t)
				if len(d.steps) < 2 {
					t.Skip("the task has fewer than two steps")
				}
				a := t.Get(tasks + "/" + d.task + "/steps?page_size=1&current_page=1").Is(http.StatusOK)
				if n := len(a.List("steps")); n != 1 && !t.Over() {
					t.Fail("page_size=1: there are %d steps", n)
				}
			}},
		{ID: "v1.step.list.unknown", Level: check.Must, Says: "Listing the steps of an unknown task returns 404 with a message.", Cites: v1Doc.At("GET " + stepsOf + ", 404; response NotFound"),
			Run: func(t *check.Talk) {
				s.aTask(t)
				t.Get(tasks + "/" + nobody + "/steps").Is(http.StatusNotFound).Fits(notFound)
			}},
		{ID: "v1.step.get", Level: check.Must, Says: "A step can be fetched by its id.", Cites: v1Doc.At("GET " + stepOf + ", 200; schema Step"),
			Run: func(t *check.Talk) {
				d := s.aDrive(t)
				if t.Over() {
					return
				}
				id := d.steps[len(d.steps)-1].In(t).Text("step_id")
				if a := t.Get(tasks + "/" + d.task + "/steps/" + id).Is(http.StatusOK); a.Text("step_id") != id {
					t.Fail("the step_id is %q, not %q", a.Text("step_id"), id)
				}
			}},
		{ID: "v1.step.get.unknown", Level: check.Must, Says: "Fetching an unknown step returns 404 with a message.", Cites: v1Doc.At("GET " + stepOf + ", 404; response NotFound"),
			Run: func(t *check.Talk) {
				t.Get(tasks + "/" + s.aTask(t) + "/steps/" + nobody).Is(http.StatusNotFound).Fits(notFound)
			}},
	}
}

// listSteps lists the steps of the driven task.
func (s *v1Suite) listSteps(t *check.Talk) check.Answer {
	d := s.aDrive(t)
	a := t.Get(tasks + "/" + d.task + "/steps").Is(http.StatusOK).Fits(page("steps", named("step_id")))
	if t.Over() {
		return a
	}
	if first := check.TextAt(d.steps[0].Value(), "step_id"); !check.Holds(a.List("steps"), "step_id", first) {
		t.Fail("the first step, %q, is not in the list", first)
	}
	return a
}
