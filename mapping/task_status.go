package mapping

import "time"

// TaskStatus is the status of a task, which follows from its newest run.
type TaskStatus string

const (
	TaskSubmitted TaskStatus = "submitted" // no run has begun since its creation or the newest answer
	TaskWorking   TaskStatus = "working"   // also between two steps of a lockstep run
	TaskAsking    TaskStatus = "asking"    // waits for an answer, or was stopped before or after a node
	TaskDone      TaskStatus = "done"
	TaskFailed    TaskStatus = "failed"
	TaskRejected  TaskStatus = "rejected" // failed because the agent refused the work
	TaskCancelled TaskStatus = "cancelled"
)

// TaskStatuses returns all statuses.
func TaskStatuses() []TaskStatus {
	return []TaskStatus{TaskSubmitted, TaskWorking, TaskAsking, TaskDone, TaskFailed, TaskRejected, TaskCancelled}
}

// Ended reports whether the task has ended.
func (s TaskStatus) Ended() bool {
	return s == TaskDone || s == TaskFailed || s == TaskRejected || s == TaskCancelled
}

// Task returns the status of a task whose newest run has this outcome.
func (o Outcome) Task() TaskStatus {
	switch {
	case o.Parked:
		return TaskWorking
	case o.Status == RunSuccess:
		return TaskDone
	case o.Cancelled:
		return TaskCancelled
	case o.Status == RunInterrupted:
		return TaskAsking
	case o.Fault != nil && o.Fault.Code == CodeAgentRejected:
		return TaskRejected
	default:
		return TaskFailed
	}
}

// TaskMark is a task's position in a list sorted by the times of their statuses. It remains valid if the task is
// deleted.
type TaskMark struct {
	StatusAt time.Time
	ID       string
}
