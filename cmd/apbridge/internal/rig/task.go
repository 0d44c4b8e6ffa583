package rig

// Task creates a task of the default agent and returns its path.
func (b *Bridge) Task(body string) string {
	b.T.Helper()
	return "/ap/v1/agent/tasks/" + b.Post("/ap/v1/agent/tasks", body).OK().Text("task_id")
}

// ThreadOfTask returns the path of a task's thread.
func ThreadOfTask(at string) string { return "/threads/" + at[len("/ap/v1/agent/tasks/"):] }

// CancelTask cancels the task at a path.
func (b *Bridge) CancelTask(at string) {
	b.T.Helper()
	if task := b.Post(at+"/cancel", "").Is(200); "/ap/v1/agent/tasks/"+task.Text("task_id") != at || task.List("artifacts") == nil {
		b.T.Errorf("cancelling returned %s", task.Body)
	}
}

// CheckCancelled checks that a step belongs to a cancelled task.
func (b *Bridge) CheckCancelled(step Answer) {
	b.T.Helper()
	if step.OK().At("is_last") != true || step.At("status") != "completed" || step.At("additional_output.error.type") != "cancelled" {
		b.T.Errorf("the step of a cancelled task: %s", step.Body)
	}
}
