package wire

import (
	"encoding/json"
	"time"
)

// Object is a JSON object that is carried as it came, such as metadata. nil means that there is none.
type Object json.RawMessage

// TaskState is the state of a task (S 4.1.3). The zero value stands for TASK_STATE_UNSPECIFIED and 0.3's unknown.
type TaskState string

const (
	StateSubmitted     TaskState = "TASK_STATE_SUBMITTED"
	StateWorking       TaskState = "TASK_STATE_WORKING"
	StateCompleted     TaskState = "TASK_STATE_COMPLETED"
	StateFailed        TaskState = "TASK_STATE_FAILED"
	StateCanceled      TaskState = "TASK_STATE_CANCELED"
	StateInputRequired TaskState = "TASK_STATE_INPUT_REQUIRED"
	StateRejected      TaskState = "TASK_STATE_REJECTED"
	StateAuthRequired  TaskState = "TASK_STATE_AUTH_REQUIRED"
)

// Terminal reports whether a task in this state never changes again.
func (s TaskState) Terminal() bool {
	return s == StateCompleted || s == StateFailed || s == StateCanceled || s == StateRejected
}

// ClosesStream reports whether a stream ends after an event of this state: at a terminal state (S 3.1.2), and at
// INPUT_REQUIRED as the official SDKs do. At AUTH_REQUIRED the agent may continue by itself (S 7.6.1).
func (s TaskState) ClosesStream() bool { return s.Terminal() || s == StateInputRequired }

// Role is the sender of a message (S 4.1.5). The zero value is ROLE_UNSPECIFIED.
type Role string

const (
	RoleUser  Role = "ROLE_USER"
	RoleAgent Role = "ROLE_AGENT"
)

// Task is a unit of work (S 4.1.1). Version 0.3 requires its context id.
type Task struct {
	ID        string     `json:"id"`
	ContextID string     `json:"contextId,omitzero"`
	Status    TaskStatus `json:"status"`
	Artifacts []Artifact `json:"artifacts,omitempty"`
	History   []Message  `json:"history,omitempty"`
	Metadata  Object     `json:"metadata,omitzero"`
}

// StatusUpdateName is the name of events of the bridge whose data is a TaskStatusUpdateEvent.
const StatusUpdateName = "status-update"

// TaskStatus is the newest status of a task (S 4.1.2).
type TaskStatus struct {
	State     TaskState `json:"state"`
	Message   *Message  `json:"message,omitzero"`
	Timestamp time.Time `json:"timestamp,omitzero"` // written in UTC with milliseconds (S 5.6.1)
}

// Message is one message between client and agent (S 4.1.4). It has at least one part, unless an agent sent it.
type Message struct {
	MessageID        string   `json:"messageId"`
	ContextID        string   `json:"contextId,omitzero"`
	TaskID           string   `json:"taskId,omitzero"`
	Role             Role     `json:"role"`
	Parts            Parts    `json:"parts"`
	Metadata         Object   `json:"metadata,omitzero"`
	Extensions       []string `json:"extensions,omitempty"`
	ReferenceTaskIDs []string `json:"referenceTaskIds,omitempty"`
}

// Artifact is an output of a task (S 4.1.7). It has at least one part, unless an agent sent it.
type Artifact struct {
	ArtifactID  string   `json:"artifactId"`
	Name        string   `json:"name,omitzero"`
	Description string   `json:"description,omitzero"`
	Parts       Parts    `json:"parts"`
	Metadata    Object   `json:"metadata,omitzero"`
	Extensions  []string `json:"extensions,omitempty"`
}

// TaskStatusUpdateEvent announces a new status (S 4.2.1).
type TaskStatusUpdateEvent struct {
	TaskID    string     `json:"taskId"`
	ContextID string     `json:"contextId"`
	Status    TaskStatus `json:"status"`
	Metadata  Object     `json:"metadata,omitzero"`
	// Final reports that the sender announced the end of the stream in 0.3. It is not written: in written events it
	// follows from TaskState.ClosesStream.
	Final bool `json:"-"`
}

// TaskArtifactUpdateEvent announces an artifact or further parts of one (S 4.2.2).
type TaskArtifactUpdateEvent struct {
	TaskID    string   `json:"taskId"`
	ContextID string   `json:"contextId"`
	Artifact  Artifact `json:"artifact"`
	Append    bool     `json:"append,omitzero"`
	LastChunk bool     `json:"lastChunk,omitzero"`
	Metadata  Object   `json:"metadata,omitzero"`
}

// LoggedArtifact is an artifact of an A2A agent in the log of the bridge (mapping.Head.Native). The backend writes it with
// each step that is an artifact, and the face shows it to A2A clients. Clients of other dialects see the step: its message
// with the text, its additional output with the data, and its files.
//
// On the first token of a growing artifact, it has only the artifact's properties, and one part without text.
type LoggedArtifact struct {
	Artifact Artifact `json:"artifact"`
	// Message is the id of the message that the artifact has become in the state, or "" if it has none.
	Message string `json:"message,omitzero"`
	// TextIn is set if the content of the message is the text of the artifact's only text part. Then that part has no text
	// here.
	TextIn bool `json:"textIn,omitzero"`
	// Files are the checksums of the parts that are files of the thread, by the index of the part. Such a part is a link
	// here, with the id of the file as its URL.
	Files map[int]string `json:"files,omitempty"`
}

// StreamResponse is one event of a stream, or the body of a push notification: exactly one member is set (S 3.2.3).
type StreamResponse struct {
	Task           *Task                    `json:"task,omitzero"`
	Message        *Message                 `json:"message,omitzero"`
	StatusUpdate   *TaskStatusUpdateEvent   `json:"statusUpdate,omitzero"`
	ArtifactUpdate *TaskArtifactUpdateEvent `json:"artifactUpdate,omitzero"`
}

// SendMessageResponse is the answer to SendMessage: exactly one member is set (S 3.1.1).
type SendMessageResponse struct {
	Task    *Task    `json:"task,omitzero"`
	Message *Message `json:"message,omitzero"`
}

// SendMessageRequest is the parameters of SendMessage and SendStreamingMessage (S 3.2.1).
type SendMessageRequest struct {
	Tenant        string                    `json:"tenant,omitzero"`
	Message       *Message                  `json:"message,omitzero"`
	Configuration *SendMessageConfiguration `json:"configuration,omitzero"`
	Metadata      Object                    `json:"metadata,omitzero"`
}

// SendMessageConfiguration is how a client wants its message processed (S 3.2.2).
type SendMessageConfiguration struct {
	AcceptedOutputModes        []string                    `json:"acceptedOutputModes,omitempty"`
	TaskPushNotificationConfig *TaskPushNotificationConfig `json:"taskPushNotificationConfig,omitzero"`
	HistoryLength              *int                        `json:"historyLength,omitzero"`
	// ReturnImmediately is the opposite of 0.3's blocking. An absent blocking is false, so that a 0.3 request without
	// configuration also asks to return immediately: Reader.Read then adds one.
	ReturnImmediately bool `json:"returnImmediately,omitzero"`
}

// GetTaskRequest is the parameters of GetTask. A HistoryLength of nil sets no limit, and 0 requests no history
// (S 3.2.4).
type GetTaskRequest struct {
	Tenant        string `json:"tenant,omitzero"`
	ID            string `json:"id"`
	HistoryLength *int   `json:"historyLength,omitzero"`
}

// ListTasksRequest is the parameters of ListTasks (S 3.1.4). PageSize is from 1 to 100, or nil for 50.
type ListTasksRequest struct {
	Tenant               string    `json:"tenant,omitzero"`
	ContextID            string    `json:"contextId,omitzero"`
	Status               TaskState `json:"status,omitzero"`
	PageSize             *int      `json:"pageSize,omitzero"`
	PageToken            string    `json:"pageToken,omitzero"`
	HistoryLength        *int      `json:"historyLength,omitzero"`
	StatusTimestampAfter time.Time `json:"statusTimestampAfter,omitzero"`
	IncludeArtifacts     bool      `json:"includeArtifacts,omitzero"`
}

// ListTasksResponse is a page of tasks. All of its members are required (S 3.1.4): the token of the last page is "".
type ListTasksResponse struct {
	Tasks         []Task `json:"tasks"`
	NextPageToken string `json:"nextPageToken"`
	PageSize      int    `json:"pageSize"`
	TotalSize     int    `json:"totalSize"`
}

// CancelTaskRequest is the parameters of CancelTask (S 3.1.5).
type CancelTaskRequest struct {
	Tenant   string `json:"tenant,omitzero"`
	ID       string `json:"id"`
	Metadata Object `json:"metadata,omitzero"`
}

// SubscribeToTaskRequest is the parameters of SubscribeToTask (S 3.1.6).
type SubscribeToTaskRequest struct {
	Tenant string `json:"tenant,omitzero"`
	ID     string `json:"id"`
}

// TaskPushNotificationConfig is the address to which events of a task are posted (S 4.3.1). It is both the parameters
// and the answer of CreateTaskPushNotificationConfig.
type TaskPushNotificationConfig struct {
	Tenant         string              `json:"tenant,omitzero"`
	ID             string              `json:"id,omitzero"`
	TaskID         string              `json:"taskId,omitzero"`
	URL            string              `json:"url"`
	Token          string              `json:"token,omitzero"`
	Authentication *AuthenticationInfo `json:"authentication,omitzero"`
}

// AuthenticationInfo is the Authorization header of push notifications (S 4.3.2). Scheme may be in any case.
type AuthenticationInfo struct {
	Scheme      string `json:"scheme"`
	Credentials string `json:"credentials,omitzero"`
}

// GetTaskPushNotificationConfigRequest is the parameters of GetTaskPushNotificationConfig (S 3.1.8). Version 0.3 allows
// an empty ID for any configuration of the task.
type GetTaskPushNotificationConfigRequest struct {
	Tenant string `json:"tenant,omitzero"`
	TaskID string `json:"taskId"`
	ID     string `json:"id"`
}

// DeleteTaskPushNotificationConfigRequest is the parameters of DeleteTaskPushNotificationConfig (S 3.1.10).
type DeleteTaskPushNotificationConfigRequest struct {
	Tenant string `json:"tenant,omitzero"`
	TaskID string `json:"taskId"`
	ID     string `json:"id"`
}

// ListTaskPushNotificationConfigsRequest is the parameters of ListTaskPushNotificationConfigs (S 3.1.9).
type ListTaskPushNotificationConfigsRequest struct {
	Tenant    string `json:"tenant,omitzero"`
	TaskID    string `json:"taskId"`
	PageSize  *int   `json:"pageSize,omitzero"`
	PageToken string `json:"pageToken,omitzero"`
}

// ListTaskPushNotificationConfigsResponse is a page of configurations.
type ListTaskPushNotificationConfigsResponse struct {
	Configs       []TaskPushNotificationConfig `json:"configs"`
	NextPageToken string                       `json:"nextPageToken,omitzero"`
}

// GetExtendedAgentCardRequest is the parameters of GetExtendedAgentCard (S 3.1.11).
type GetExtendedAgentCardRequest struct {
	Tenant string `json:"tenant,omitzero"`
}

// Empty is the answer to DeleteTaskPushNotificationConfig: {}, and null in 0.3.
type Empty struct{}
