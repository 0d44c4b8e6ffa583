package mapping

import "time"

// TaskStatus is the status of a task: that in which its newest run leaves it.
type TaskStatus string

const (
	TaskSubmitted TaskStatus = "submitted" // no run of it has begun since it was made, or since the newest answer
	TaskWorking   TaskStatus = "working"   // also between two steps of a lockstep run
	TaskAsking    TaskStatus = "asking"    // it waits for an answer, or was stopped before or after a node
	TaskDone      TaskStatus = "done"
	TaskFailed    TaskStatus = "failed"
	TaskCancelled TaskStatus = "cancelled"
)

// TaskStatuses returns all statuses.
func TaskStatuses() []TaskStatus {
	return []TaskStatus{TaskSubmitted, TaskWorking, TaskAsking, TaskDone, TaskFailed, TaskCancelled}
}

// Ended reports whether the task has ended.
func (s TaskStatus) Ended() bool { return s == TaskDone || s == TaskFailed || s == TaskCancelled }

// Task returns the status of the task after its newest run ended so.
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
	default:
		return TaskFailed
	}
}

// TaskMark is the place of a task in a list by the times of their statuses. It outlives the task.
type TaskMark struct {
	StatusAt time.Time
	ID       string
}
