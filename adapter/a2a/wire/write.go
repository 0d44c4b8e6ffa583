package wire

import (
	"bytes"
	"encoding/base64"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

var (
	errNoParts   = errors.New("wire: a message or artifact without parts")
	errNoContent = errors.New("wire: a part without content")
)

// Append appends the JSON of a value of this package to dst, in one line. It fails only if the value breaks a rule of
// the protocol: a message or artifact without parts, a part without content, or carried bytes that are not JSON.
//
// A SendMessageResponse or StreamResponse must have exactly one member. Version 0.3 loses file names and media types of
// text and data parts, tenants, and page sizes and tokens of lists of push configurations.
func Append(dst []byte, v Version, value any) ([]byte, error) {
	w := bytes.NewBuffer(dst)
	if err := json.MarshalWrite(w, value, writeOptions[v]); err != nil {
		return dst, fmt.Errorf("writing A2A %s: %w", v, err)
	}
	return w.Bytes(), nil
}

// Carried values were checked when they were read, and keep their escapes and repeated names.
var writeCommon = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true), jsontext.PreserveRawStrings(true), json.Deterministic(true))

var writeOptions = map[Version]json.Options{
	V1:      json.JoinOptions(writeCommon, json.WithMarshalers(json.JoinMarshalers(sharedMarshalers, marshalers1))),
	V03:     json.JoinOptions(writeCommon, json.WithMarshalers(json.JoinMarshalers(marshalers03, legacyMarshalers, sharedMarshalers))),
	V03HTTP: json.JoinOptions(writeCommon, json.WithMarshalers(json.JoinMarshalers(marshalers03HTTP, legacyMarshalers, sharedMarshalers))),
}

var sharedMarshalers = json.JoinMarshalers(
	json.MarshalToFunc(func(enc *jsontext.Encoder, o Object) error { return enc.WriteValue(jsontext.Value(orEmpty(o))) }),
	json.MarshalToFunc(func(enc *jsontext.Encoder, t time.Time) error {
		return enc.WriteToken(jsontext.String(formatTime(t)))
	}),
	json.MarshalToFunc(func(enc *jsontext.Encoder, parts Parts) error {
		if len(parts) == 0 {
			return errNoParts
		}
		return json.MarshalEncode(enc, []Part(parts))
	}),
)

func orEmpty(o Object) Object {
	if len(o) == 0 {
		return Object("{}")
	}
	return o
}

// formatTime writes a time as S 5.6.1 demands.
func formatTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

var marshalers1 = json.JoinMarshalers(
	json.MarshalToFunc(func(enc *jsontext.Encoder, s TaskState) error {
		return enc.WriteToken(jsontext.String(orUnspecified(string(s), "TASK_STATE_")))
	}),
	json.MarshalToFunc(func(enc *jsontext.Encoder, r Role) error {
		return enc.WriteToken(jsontext.String(orUnspecified(string(r), "ROLE_")))
	}),
	json.MarshalToFunc(func(enc *jsontext.Encoder, p Part) error { return p.write(enc) }),
	json.MarshalToFunc(func(enc *jsontext.Encoder, s SecurityRequirement) error {
		type list struct {
			List []string `json:"list"`
		}
		var x struct {
			Schemes map[string]list `json:"schemes"`
		}
		x.Schemes = make(map[string]list, len(s))
		for name, scopes := range s {
			x.Schemes[name] = list{scopes}
		}
		return json.MarshalEncode(enc, x)
	}),
)

func orUnspecified(name, prefix string) string {
	if name == "" {
		return prefix + "UNSPECIFIED"
	}
	return name
}

// partTail is what parts of all kinds have in 1.0.
type partTail struct {
	Filename  string `json:"filename,omitzero"`
	MediaType string `json:"mediaType,omitzero"`
	Metadata  Object `json:"metadata,omitzero"`
}

func (p *Part) write(enc *jsontext.Encoder) error {
	tail := partTail{p.Filename, p.MediaType, p.Metadata}
	switch p.Kind {
	case PartText:
		return json.MarshalEncode(enc, struct {
			Text string `json:"text"`
			partTail
		}{p.Text, tail})
	case PartRaw:
		return json.MarshalEncode(enc, struct {
			Raw []byte `json:"raw"`
			partTail
		}{p.Raw, tail})
	case PartURL:
		return json.MarshalEncode(enc, struct {
			URL string `json:"url"`
			partTail
		}{p.URL, tail})
	case PartData:
		return json.MarshalEncode(enc, struct {
			Data jsontext.Value `json:"data"`
			partTail
		}{jsontext.Value(orNull(p.Data)), tail})
	}
	return errNoContent
}

// legacyMarshalers are what both shapes of 0.3 have in common.
var legacyMarshalers = json.JoinMarshalers(
	json.MarshalToFunc(func(enc *jsontext.Encoder, a AuthenticationInfo) error {
		return json.MarshalEncode(enc, struct {
			Schemes     []string `json:"schemes"`
			Credentials string   `json:"credentials,omitzero"`
		}{[]string{a.Scheme}, a.Credentials})
	}),
	json.MarshalToFunc(func(enc *jsontext.Encoder, c AgentCard) error {
		return json.MarshalEncode(enc, c.legacy())
	}),
	json.MarshalToFunc(func(enc *jsontext.Encoder, s SecurityRequirement) error {
		return json.MarshalEncode(enc, map[string][]string(s))
	}),
)

type legacyTask struct {
	Kind      string     `json:"kind"`
	ID        string     `json:"id"`
	ContextID string     `json:"contextId"`
	Status    TaskStatus `json:"status"`
	Artifacts []Artifact `json:"artifacts,omitempty"`
	History   []Message  `json:"history,omitempty"`
	Metadata  Object     `json:"metadata,omitzero"`
}

type legacyPush struct {
	ID             string              `json:"id,omitzero"`
	URL            string              `json:"url"`
	Token          string              `json:"token,omitzero"`
	Authentication *AuthenticationInfo `json:"authentication,omitzero"`
}

func (c *TaskPushNotificationConfig) legacy() *legacyPush {
	if c == nil {
		return nil
	}
	return &legacyPush{c.ID, c.URL, c.Token, c.Authentication}
}

// marshalers03 write a2a.json of 0.3.
var marshalers03 = json.JoinMarshalers(
	json.MarshalToFunc(func(enc *jsontext.Encoder, s TaskState) error {
		return enc.WriteToken(jsontext.String(s.legacy()))
	}),
	json.MarshalToFunc(func(enc *jsontext.Encoder, r Role) error {
		name := "user"
		if r == RoleAgent {
			name = "agent"
		}
		return enc.WriteToken(jsontext.String(name))
	}),
	json.MarshalToFunc(func(enc *jsontext.Encoder, p Part) error { return p.writeLegacy(enc) }),
	json.MarshalToFunc(func(enc *jsontext.Encoder, m Message) error {
		return json.MarshalEncode(enc, struct {
			Kind string `json:"kind"`
			message
		}{"message", message(m)})
	}),
	json.MarshalToFunc(func(enc *jsontext.Encoder, t Task) error {
		return json.MarshalEncode(enc, legacyTask{"task", t.ID, t.ContextID, t.Status, t.Artifacts, t.History, t.Metadata})
	}),
	json.MarshalToFunc(func(enc *jsontext.Encoder, u TaskStatusUpdateEvent) error {
		return json.MarshalEncode(enc, struct {
			Kind string `json:"kind"`
			statusUpdate
			Final bool `json:"final"`
		}{"status-update", statusUpdate(u), u.Status.State.ClosesStream()})
	}),
	json.MarshalToFunc(func(enc *jsontext.Encoder, u TaskArtifactUpdateEvent) error {
		return json.MarshalEncode(enc, struct {
			Kind string `json:"kind"`
			artifactUpdate
		}{"artifact-update", artifactUpdate(u)})
	}),
	json.MarshalToFunc(func(enc *jsontext.Encoder, s StreamResponse) error {
		switch {
		case s.Task != nil:
			return json.MarshalEncode(enc, s.Task)
		case s.Message != nil:
			return json.MarshalEncode(enc, s.Message)
		case s.StatusUpdate != nil:
			return json.MarshalEncode(enc, s.StatusUpdate)
		}
		return json.MarshalEncode(enc, s.ArtifactUpdate)
	}),
	json.MarshalToFunc(func(enc *jsontext.Encoder, s SendMessageResponse) error {
		if s.Task != nil {
			return json.MarshalEncode(enc, s.Task)
		}
		return json.MarshalEncode(enc, s.Message)
	}),
	json.MarshalToFunc(func(enc *jsontext.Encoder, s SendMessageRequest) error {
		return json.MarshalEncode(enc, struct {
			Message       *Message                  `json:"message"`
			Configuration *SendMessageConfiguration `json:"configuration"`
			Metadata      Object                    `json:"metadata,omitzero"`
		}{s.Message, s.settings(), s.Metadata})
	}),
	json.MarshalToFunc(func(enc *jsontext.Encoder, c SendMessageConfiguration) error {
		return json.MarshalEncode(enc, struct {
			AcceptedOutputModes []string    `json:"acceptedOutputModes,omitempty"`
			Blocking            bool        `json:"blocking"`
			HistoryLength       *int        `json:"historyLength,omitzero"`
			Push                *legacyPush `json:"pushNotificationConfig,omitzero"`
		}{c.AcceptedOutputModes, !c.ReturnImmediately, c.HistoryLength, c.TaskPushNotificationConfig.legacy()})
	}),
	json.MarshalToFunc(func(enc *jsontext.Encoder, c TaskPushNotificationConfig) error {
		return json.MarshalEncode(enc, struct {
			TaskID string      `json:"taskId"`
			Config *legacyPush `json:"pushNotificationConfig"`
		}{c.TaskID, c.legacy()})
	}),
	json.MarshalToFunc(func(enc *jsontext.Encoder, g GetTaskRequest) error {
		g.Tenant = ""
		return json.MarshalEncode(enc, getTask(g))
	}),
	json.MarshalToFunc(func(enc *jsontext.Encoder, c CancelTaskRequest) error {
		c.Tenant = ""
		return json.MarshalEncode(enc, cancelTask(c))
	}),
	json.MarshalToFunc(func(enc *jsontext.Encoder, s SubscribeToTaskRequest) error {
		return json.MarshalEncode(enc, legacyConfigName{TaskID: s.ID})
	}),
	json.MarshalToFunc(func(enc *jsontext.Encoder, g GetTaskPushNotificationConfigRequest) error {
		return json.MarshalEncode(enc, legacyConfigName{g.TaskID, g.ID})
	}),
	json.MarshalToFunc(func(enc *jsontext.Encoder, d DeleteTaskPushNotificationConfigRequest) error {
		return json.MarshalEncode(enc, legacyConfigName{d.TaskID, d.ID})
	}),
	json.MarshalToFunc(func(enc *jsontext.Encoder, l ListTaskPushNotificationConfigsRequest) error {
		return json.MarshalEncode(enc, legacyConfigName{TaskID: l.TaskID})
	}),
	json.MarshalToFunc(func(enc *jsontext.Encoder, l ListTaskPushNotificationConfigsResponse) error {
		return json.MarshalEncode(enc, l.Configs)
	}),
	json.MarshalToFunc(func(enc *jsontext.Encoder, s SecurityScheme) error {
		return json.MarshalEncode(enc, s.legacy())
	}),
	json.MarshalToFunc(func(enc *jsontext.Encoder, _ Empty) error { return enc.WriteToken(jsontext.Null) }),
)

type (
	artifactUpdate TaskArtifactUpdateEvent
	getTask        GetTaskRequest
	cancelTask     CancelTaskRequest
)

// legacyConfigName is TaskIdParams and its variants in 0.3.
type legacyConfigName struct {
	TaskID   string `json:"id"`
	ConfigID string `json:"pushNotificationConfigId,omitzero"`
}

// settings returns the configuration for 0.3, which must say blocking: its default is the opposite of 1.0's.
func (s *SendMessageRequest) settings() *SendMessageConfiguration {
	if s.Configuration == nil {
		return &SendMessageConfiguration{}
	}
	return s.Configuration
}

func (p *Part) writeLegacy(enc *jsontext.Encoder) error {
	type file struct {
		Name     string `json:"name,omitzero"`
		MimeType string `json:"mimeType,omitzero"`
		Bytes    []byte `json:"bytes,omitzero"`
		URI      string `json:"uri,omitzero"`
	}
	switch p.Kind {
	case PartText:
		return json.MarshalEncode(enc, struct {
			Kind     string `json:"kind"`
			Text     string `json:"text"`
			Metadata Object `json:"metadata,omitzero"`
		}{"text", p.Text, p.Metadata})
	case PartRaw, PartURL:
		f := file{Name: p.Filename, MimeType: p.MediaType, URI: p.URL}
		if p.Kind == PartRaw {
			f.Bytes, f.URI = nonNil(p.Raw), ""
		}
		return json.MarshalEncode(enc, struct {
			Kind     string `json:"kind"`
			File     file   `json:"file"`
			Metadata Object `json:"metadata,omitzero"`
		}{"file", f, p.Metadata})
	case PartData:
		data, metadata, err := p.wrapped()
		if err != nil {
			return err
		}
		return json.MarshalEncode(enc, struct {
			Kind     string         `json:"kind"`
			Data     jsontext.Value `json:"data"`
			Metadata Object         `json:"metadata,omitzero"`
		}{"data", jsontext.Value(data), metadata})
	}
	return errNoContent
}

func nonNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// marshalers03HTTP write ProtoJSON of a2a.proto of 0.3.
var marshalers03HTTP = json.JoinMarshalers(
	json.MarshalToFunc(func(enc *jsontext.Encoder, s TaskState) error {
		if s == StateCanceled {
			s = "TASK_STATE_CANCELLED"
		}
		return enc.WriteToken(jsontext.String(orUnspecified(string(s), "TASK_STATE_")))
	}),
	json.MarshalToFunc(func(enc *jsontext.Encoder, r Role) error {
		return enc.WriteToken(jsontext.String(orUnspecified(string(r), "ROLE_")))
	}),
	json.MarshalToFunc(func(enc *jsontext.Encoder, p Part) error { return p.writeLegacyHTTP(enc) }),
	json.MarshalToFunc(func(enc *jsontext.Encoder, m Message) error {
		return json.MarshalEncode(enc, struct {
			MessageID  string   `json:"messageId"`
			ContextID  string   `json:"contextId,omitzero"`
			TaskID     string   `json:"taskId,omitzero"`
			Role       Role     `json:"role"`
			Content    Parts    `json:"content"`
			Metadata   Object   `json:"metadata,omitzero"`
			Extensions []string `json:"extensions,omitempty"`
		}{m.MessageID, m.ContextID, m.TaskID, m.Role, m.Parts, m.Metadata, m.Extensions})
	}),
	json.MarshalToFunc(func(enc *jsontext.Encoder, u TaskStatusUpdateEvent) error {
		return json.MarshalEncode(enc, struct {
			statusUpdate
			Final bool `json:"final,omitzero"`
		}{statusUpdate(u), u.Status.State.ClosesStream()})
	}),
	json.MarshalToFunc(func(enc *jsontext.Encoder, s SendMessageRequest) error {
		return json.MarshalEncode(enc, struct {
			Message       *Message                  `json:"message"`
			Configuration *SendMessageConfiguration `json:"configuration"`
			Metadata      Object                    `json:"metadata,omitzero"`
		}{s.Message, s.settings(), s.Metadata})
	}),
	json.MarshalToFunc(func(enc *jsontext.Encoder, c SendMessageConfiguration) error {
		return json.MarshalEncode(enc, struct {
			AcceptedOutputModes []string    `json:"acceptedOutputModes,omitempty"`
			Push                *legacyPush `json:"pushNotification,omitzero"`
			HistoryLength       *int        `json:"historyLength,omitzero"`
			Blocking            bool        `json:"blocking"`
		}{c.AcceptedOutputModes, c.TaskPushNotificationConfig.legacy(), c.HistoryLength, !c.ReturnImmediately})
	}),
	json.MarshalToFunc(func(enc *jsontext.Encoder, c TaskPushNotificationConfig) error {
		return json.MarshalEncode(enc, struct {
			Name   string      `json:"name"`
			Config *legacyPush `json:"pushNotificationConfig"`
		}{"tasks/" + c.TaskID + "/pushNotificationConfigs/" + c.ID, c.legacy()})
	}),
	// a2a-js reads the scheme of a2a.proto here, and a2a-go that of a2a.json.
	json.MarshalToFunc(func(enc *jsontext.Encoder, s SecurityScheme) error {
		return json.MarshalEncode(enc, s.hybrid())
	}),
	json.MarshalToFunc(func(enc *jsontext.Encoder, c CancelTaskRequest) error {
		return json.MarshalEncode(enc, struct {
			Name string `json:"name"`
		}{"tasks/" + c.ID})
	}),
)

func (p *Part) writeLegacyHTTP(enc *jsontext.Encoder) error {
	type file struct {
		URI      *string `json:"fileWithUri,omitzero"`
		Bytes    *string `json:"fileWithBytes,omitzero"`
		MimeType string  `json:"mimeType,omitzero"`
		Name     string  `json:"name,omitzero"`
	}
	type data struct {
		Data stdjson.RawMessage `json:"data"`
	}
	var x struct {
		Text     *string `json:"text,omitzero"`
		File     *file   `json:"file,omitzero"`
		Data     *data   `json:"data,omitzero"`
		Metadata Object  `json:"metadata,omitzero"`
	}
	x.Metadata = p.Metadata
	switch p.Kind {
	case PartText:
		x.Text = &p.Text
	case PartURL:
		x.File = &file{URI: &p.URL, MimeType: p.MediaType, Name: p.Filename}
	case PartRaw:
		coded := base64.StdEncoding.EncodeToString(p.Raw)
		x.File = &file{Bytes: &coded, MimeType: p.MediaType, Name: p.Filename}
	case PartData:
		value, metadata, err := p.wrapped()
		if err != nil {
			return err
		}
		x.Data, x.Metadata = &data{value}, metadata
	default:
		return errNoContent
	}
	return json.MarshalEncode(enc, x)
}
