package taskstep

import (
	"math"
	"net/http"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/conformance/check"
)

func (s *v1Suite) taskChecks() []check.Check {
	return []check.Check{
		{ID: "v1.task.create", Level: check.Must, Says: "A task can be created.", Cites: v1Doc.At("POST " + tasks + ", 200; schema Task, task_id"),
			Run: func(t *check.Talk) { s.task.Own(t, s.make) }},
		{ID: "v1.task.create.schema", Level: check.Must, Says: "Creating a task returns a Task.", Cites: v1Doc.At("POST " + tasks + ", 200; schema Task"),
			Run: func(t *check.Talk) { s.task.Need(t, "task", s.make).In(t).Fits(taskShape) }},
		{ID: "v1.task.create.json", Level: check.Must, Says: "Creating a task returns application/json.", Cites: v1Doc.At("POST " + tasks + ", 200, content"),
			Run: func(t *check.Talk) {
				s.aTask(t)
				t.Post(tasks, map[string]any{"input": prompt}).Is(http.StatusOK).Typed("application/json")
			}},
		{ID: "v1.task.create.empty", Level: check.Must, Says: "A task can be created without an input.", Cites: v1Doc.At("schema TaskRequestBody, which requires no property"),
			Run: func(t *check.Talk) {
				s.aTask(t)
				t.Post(tasks, map[string]any{}).Is(http.StatusOK).ID("task_id")
			}},
		{ID: "v1.task.get", Level: check.Must, Says: "A task can be fetched by its id.", Cites: v1Doc.At("GET " + tasks + "/{task_id}, 200; schema Task"),
			Run: func(t *check.Talk) {
				id := s.aTask(t)
				if a := t.Get(tasks + "/" + id).Is(http.StatusOK); a.Text("task_id") != id {
					t.Fail("the task_id is %q, not %q", a.Text("task_id"), id)
				}
			}},
		{ID: "v1.task.get.input", Level: check.Should, Says: "A task keeps the input and the additional_input that it was created with.", Cites: v1Doc.At("schema Task, allOf TaskRequestBody"),
			Run: func(t *check.Talk) {
				a := t.Get(tasks + "/" + s.aTask(t)).Is(http.StatusOK)
				if a.Text("input") != prompt {
					t.Fail("the input is %q, not %q", a.Text("input"), prompt)
				}
				if a.At("additional_input.checked") != true {
					t.Fail("additional_input differs from the request")
				}
			}},
		{ID: "v1.task.get.unknown", Level: check.Must, Says: "Fetching an unknown task returns 404 with a message.", Cites: v1Doc.At("GET " + tasks + "/{task_id}, 404; response NotFound"),
			Run: func(t *check.Talk) {
				s.aTask(t)
				t.Get(tasks + "/" + nobody).Is(http.StatusNotFound).Fits(notFound)
			}},
	}
}

// pages returns the first two pages of one task each. It skips the check if other clients have created tasks since.
func (s *v1Suite) pages(t *check.Talk) []check.Answer {
	s.aTask(t)
	s.second.Need(t, "second task", s.make)
	var list []check.Answer
	for _, query := range []string{"?page_size=1&current_page=1", "?page_size=1&current_page=2", "?page_size=1&current_page=1"} {
		list = append(list, t.Get(tasks+query).Is(http.StatusOK).Fits(page("tasks", named("task_id"))))
	}
	if string(list[0].Body) != string(list[2].Body) {
		t.Skip("other clients are creating tasks, so the pages are not stable")
	}
	return list[:2]
}

func (s *v1Suite) somePages(t *check.Talk) []check.Answer {
	list := s.listed.Need(t, "page", s.pages)
	if len(list) < 2 {
		t.Skip("there are fewer than two pages of tasks")
		return make([]check.Answer, 2)
	}
	return list
}

func (s *v1Suite) pageChecks() []check.Check {
	return []check.Check{
		{ID: "v1.task.list", Level: check.Must, Says: "Listing tasks returns them with pagination.", Cites: v1Doc.At("GET " + tasks + ", 200; schema TaskListResponse"),
			Run: func(t *check.Talk) {
				s.aTask(t)
				t.Get(tasks).Is(http.StatusOK).Fits(page("tasks", named("task_id")))
			}},
		{ID: "v1.task.list.size", Level: check.Must, Says: "A page has page_size tasks and reports its page_size.", Cites: v1Doc.At("GET " + tasks + ", parameter page_size; schema Pagination"),
			Run: func(t *check.Talk) {
				first := s.somePages(t)[0].In(t)
				if t.Over() {
					return
				}
				if n := len(first.List("tasks")); n != 1 {
					t.Fail("page_size=1: there are %d tasks", n)
				}
				if first.At("pagination.page_size") != 1.0 {
					t.Fail("page_size=1: pagination.page_size is %v", first.At("pagination.page_size"))
				}
			}},
		{ID: "v1.task.list.next", Level: check.Must, Says: "The next page has other tasks and reports its number.", Cites: v1Doc.At("GET " + tasks + ", parameter current_page; schema Pagination"),
			Run: func(t *check.Talk) {
				list := s.somePages(t)
				list[0], list[1] = list[0].In(t), list[1].In(t)
				if t.Over() {
					return
				}
				if list[1].At("pagination.current_page") != 2.0 {
					t.Fail("current_page=2: pagination.current_page is %v", list[1].At("pagination.current_page"))
				}
				if next := list[1].List("tasks"); len(next) != 1 || check.Holds(list[0].List("tasks"), "task_id", check.TextAt(next[0], "task_id")) {
					t.Fail("current_page=2: the tasks are those of page 1")
				}
			}},
		{ID: "v1.task.list.totals", Level: check.Must, Says: "total_pages agrees with total_items and page_size.", Cites: v1Doc.At("schema Pagination, total_items and total_pages"),
			Run: func(t *check.Talk) {
				first := s.somePages(t)[0].In(t)
				if t.Over() {
					return
				}
				items, _ := first.At("pagination.total_items").(float64)
				size, _ := first.At("pagination.page_size").(float64)
				if pages := first.At("pagination.total_pages"); items < 2 || pages != math.Ceil(items/max(size, 1)) {
					t.Fail("total_items is %v and page_size %v, but total_pages is %v", items, size, pages)
				}
			}},
		{ID: "v1.task.list.default", Level: check.Must, Says: "Without parameters, a list is page 1 with page_size 10.", Cites: v1Doc.At("GET " + tasks + ", parameters, default"),
			Run: func(t *check.Talk) {
				s.aTask(t)
				a := t.Get(tasks).Is(http.StatusOK)
				if size, number := a.At("pagination.page_size"), a.At("pagination.current_page"); size != 10.0 || number != 1.0 {
					t.Fail("page_size is %v and current_page %v", size, number)
				}
			}},
		{ID: "v1.task.list.zero", Level: check.Should, Says: "A page_size of 0 is refused.", Cites: v1Doc.At("GET " + tasks + ", parameter page_size, minimum"),
			Run: func(t *check.Talk) { t.Get(tasks + "?page_size=0").Refused() }},
	}
}

// invalidChecks come last: an invalid object that a server accepts stays in its lists.
func (s *v1Suite) invalidChecks() []check.Check {
	return []check.Check{
		{ID: "v1.task.create.invalid", Level: check.Must, Says: "Creating a task whose input is a number returns 422.", Cites: v1Doc.At("POST " + tasks + ", 422; schema TaskRequestBody, input"),
			Run: func(t *check.Talk) {
				t.Post(tasks, map[string]any{"input": 5}).Is(http.StatusUnprocessableEntity)
			}},
		{ID: "v1.step.invalid", Level: check.Must, Says: "Executing a step whose input is a list returns 422.", Cites: v1Doc.At("POST " + stepsOf + ", 422; schema StepRequestBody, input"),
			Run: func(t *check.Talk) {
				t.Send(step(s.aTask(t), `{"input":[1]}`)).Is(http.StatusUnprocessableEntity)
			}},
	}
}
