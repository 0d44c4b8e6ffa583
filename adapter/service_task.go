package adapter

import (
	"context"
	"encoding/json"
	"io"
	"iter"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
)

// TaskRef identifies a task for a face. A task of another agent, or of another topic if Topic is set, is NotFound. Runs
// created for the request have the Flavour.
type TaskRef struct {
	Agent, Topic, ID string
	Flavour          mapping.Flavour
}

// TaskQuery selects tasks of an agent; empty fields select all.
type TaskQuery struct {
	Agent    string
	ThreadID string
	// ThreadName selects the thread to which the caller gave this name for the agent, otherwise the one with this id.
	ThreadName string
	Status     []mapping.TaskStatus // one of these
	Since      time.Time            // the status changed then or later
	After      mapping.TaskMark     // tasks after this one in the list; zero: from the start
	Limit      int                  // 0: all
}

// Page is a page of a list, from 1.
type Page struct{ Number, Size int }

// Tasks creates tasks, hands out their steps, and stores the files of their threads.
type Tasks interface {
	CreateTask(ctx context.Context, n TaskRequest) (mapping.Task, error)
	// GetTask returns the task with its Artifacts.
	GetTask(ctx context.Context, ref TaskRef) (mapping.Task, error)
	// ListTasks returns a page of an agent's tasks, oldest first, and their total number. The tasks are read with their
	// Artifacts while the caller iterates, so that only a few megabytes are held at a time. A task that was deleted
	// before that is omitted.
	ListTasks(ctx context.Context, ref TaskRef, p Page) (tasks iter.Seq2[mapping.Task, error], total int, err error)
	// SearchTasks returns an agent's tasks without Artifacts, latest change of status first, and the total number of
	// matches, which does not depend on After and Limit. Like ListTasks it holds only a few megabytes at a time.
	SearchTasks(ctx context.Context, q TaskQuery) (tasks iter.Seq2[mapping.Task, error], total int, err error)
	CancelTask(ctx context.Context, ref TaskRef) (mapping.Task, error)

	// CreateHook adds a hook to a task, or replaces the one with the same ID. A hook without an ID gets one. Each dialect
	// has its own IDs, and the methods know only the hooks of the dialect of the flavour.
	// Notifications are written in the transaction that changes the status, and are delivered like webhooks of runs, in
	// order for each hook. The methods return hooks without Token and Credentials. Hooks are deleted with their task.
	CreateHook(ctx context.Context, ref TaskRef, h mapping.Hook) (mapping.Hook, error)
	// ListHooks returns the hooks of a task in the order of their IDs.
	ListHooks(ctx context.Context, ref TaskRef) ([]mapping.Hook, error)
	// DeleteHook removes a hook, if it exists, and drops its pending notifications.
	DeleteHook(ctx context.Context, ref TaskRef, id string) error

	// ExecuteStep executes, or waits for, the next step of a task.
	ExecuteStep(ctx context.Context, ref TaskRef, r StepRequest) (Handout, error)
	// ListSteps returns released steps as completed and the held one as running.
	ListSteps(ctx context.Context, ref TaskRef, p Page) (steps []mapping.Step, total int, err error)
	GetStep(ctx context.Context, ref TaskRef, stepID string) (mapping.Step, error)
	// FollowSteps yields steps with N > after as they are released, until the last.
	FollowSteps(ctx context.Context, ref TaskRef, after int) iter.Seq2[mapping.Step, error]

	// ListArtifacts returns the artifacts, those made by agents first, then by depth (root first), then by path.
	ListArtifacts(ctx context.Context, ref TaskRef, p Page) (artifacts []mapping.Artifact, total int, err error)
	GetArtifact(ctx context.Context, ref TaskRef, artifactID string) (mapping.Artifact, error)
	// OpenArtifact returns the bytes. The caller closes them.
	OpenArtifact(ctx context.Context, ref TaskRef, artifactID string) (mapping.Artifact, io.ReadSeekCloser, error)
	// SaveArtifact stores an upload. If it exceeds limits.artifact, it is TooLarge and nothing is stored.
	SaveArtifact(ctx context.Context, ref TaskRef, path, mimeType string, body io.Reader) (mapping.Artifact, error)
}

// TaskRequest is a request for a task.
type TaskRequest struct {
	Agent           string
	Topic           string // "" means its own thread
	Input           *string
	AdditionalInput json.RawMessage // an object, or nil
	IdempotencyKey  string
}

// StepRequest is the contents of a POST for a step.
type StepRequest struct {
	Input           *string
	AdditionalInput json.RawMessage
	IdempotencyKey  string
	// Retries and RetriesSet as in RunRequest, for a run that this request starts.
	Retries    int
	RetriesSet bool
}

// Handout is a step being sent to a client. The hand-out is already durable, so that a process that dies does not hand
// it out twice. Confirm must be called once the response was written to a client that was still connected when it was
// ready. Release must always be called at the end of the request; without a previous Confirm it takes the hand-out
// back, and the step is handed out again. Until either is called, no other POST gets a step of the task. The end of the
// request's context has no effect, because many clients close their connection as soon as they have read the response.
type Handout struct {
	Step mapping.Step
	// Losses are those of the step's run, for the loss header.
	Losses  []mapping.Loss
	Confirm func()
	Release func() // may be nil
}

// TopicRef identifies a topic, which is a thread, for a face. A topic used by another agent is NotFound. Flavour is as
// in TaskRef.
type TopicRef struct {
	Agent, ID string
	Flavour   mapping.Flavour `json:"-"` // not included in the hash for an idempotency key
}

// Topics are threads as in the Topic RFC of the Agent Protocol: a topic groups tasks and the data that they share.
// Tasks, steps and artifacts of a topic are found with TaskRef.Topic. Interactions are the messages of a topic.
type Topics interface {
	// CreateTopic creates a topic. An AdditionalInput with a key reserved by the bridge is Invalid.
	CreateTopic(ctx context.Context, n TopicRequest) (rule.Topic, error)
	// GetTopic returns the topic with its Memory and Artifacts.
	GetTopic(ctx context.Context, ref TopicRef) (rule.Topic, error)
	// ListTopics returns a page of an agent's topics like ListTasks. Each is as returned by GetTopic.
	ListTopics(ctx context.Context, agent string, p Page) (topics iter.Seq2[rule.Topic, error], total int, err error)

	// Say creates an interaction. A user's text answers the topic's open question, if there is one. Otherwise it
	// derives a task, whose steps are executed like those of any task. If Derive is true, a task is always created. If
	// it is false, none is: the text is appended to the topic's state, as messages of other roles always are. That
	// fails with Conflict while a run is active.
	Say(ctx context.Context, n InteractionRequest) (rule.Interaction, error)
	GetInteraction(ctx context.Context, ref TopicRef, id string) (rule.Interaction, error)
	// ListInteractions returns a topic's interactions, oldest first.
	ListInteractions(ctx context.Context, ref TopicRef, p Page) (interactions []rule.Interaction, total int, err error)
}

// TopicRequest is a request for a topic.
type TopicRequest struct {
	Agent           string
	Name            *string
	AdditionalInput json.RawMessage // an object, or nil
	IdempotencyKey  string
}

// InteractionRequest is a message for a topic.
type InteractionRequest struct {
	Ref             TopicRef
	Role            rule.Role
	Input           *string
	AdditionalInput json.RawMessage // an object, or nil
	Derive          *bool           // nil: not specified
	IdempotencyKey  string
}
