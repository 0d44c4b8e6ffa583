package wire

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
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
	if err := jsonv2.MarshalWrite(w, value, writeOptions[v]); err != nil {
		return dst, fmt.Errorf("writing A2A %s: %w", v, err)
	}
	return w.Bytes(), nil
}

// Carried values were checked when they were read, and keep their escapes and repeated names.
var writeCommon = jsonv2.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true), jsontext.PreserveRawStrings(true), jsonv2.Deterministic(true))

var writeOptions = map[Version]jsonv2.Options{
	V1:      jsonv2.JoinOptions(writeCommon, jsonv2.WithMarshalers(jsonv2.JoinMarshalers(sharedMarshalers, marshalers1))),
	V03:     jsonv2.JoinOptions(writeCommon, jsonv2.WithMarshalers(jsonv2.JoinMarshalers(marshalers03, legacyMarshalers, sharedMarshalers))),
	V03HTTP: jsonv2.JoinOptions(writeCommon, jsonv2.WithMarshalers(jsonv2.JoinMarshalers(marshalers03HTTP, legacyMarshalers, sharedMarshalers))),
}

var sharedMarshalers = jsonv2.JoinMarshalers(
	jsonv2.MarshalToFunc(func(enc *jsontext.Encoder, o Object) error { return enc.WriteValue(jsontext.Value(orEmpty(o))) }),
	jsonv2.MarshalToFunc(func(enc *jsontext.Encoder, t time.Time) error {
		return enc.WriteToken(jsontext.String(formatTime(t)))
	}),
	jsonv2.MarshalToFunc(func(enc *jsontext.Encoder, parts Parts) error {
		if len(parts) == 0 {
			return errNoParts
		}
		return jsonv2.MarshalEncode(enc, []Part(parts))
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

var marshalers1 = jsonv2.JoinMarshalers(
	jsonv2.MarshalToFunc(func(enc *jsontext.Encoder, s TaskState) error {
		return enc.WriteToken(jsontext.String(orUnspecified(string(s), "TASK_STATE_")))
	}),
	jsonv2.MarshalToFunc(func(enc *jsontext.Encoder, r Role) error {
		return enc.WriteToken(jsontext.String(orUnspecified(string(r), "ROLE_")))
	}),
	jsonv2.MarshalToFunc(func(enc *jsontext.Encoder, p Part) error { return p.write(enc) }),
	jsonv2.MarshalToFunc(func(enc *jsontext.Encoder, s SecurityRequirement) error {
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
		return jsonv2.MarshalEncode(enc, x)
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
		return jsonv2.MarshalEncode(enc, struct {
			Text string `json:"text"`
			partTail
		}{p.Text, tail})
	case PartRaw:
		return jsonv2.MarshalEncode(enc, struct {
			Raw []byte `json:"raw"`
			partTail
		}{p.Raw, tail})
	case PartURL:
		return jsonv2.MarshalEncode(enc, struct {
			URL string `json:"url"`
			partTail
		}{p.URL, tail})
	case PartData:
		return jsonv2.MarshalEncode(enc, struct {
			Data jsontext.Value `json:"data"`
			partTail
		}{jsontext.Value(orNull(p.Data)), tail})
	}
	return errNoContent
}

// legacyMarshalers are what both shapes of 0.3 have in common.
var legacyMarshalers = jsonv2.JoinMarshalers(
	jsonv2.MarshalToFunc(func(enc *jsontext.Encoder, s SendMessageRequest) error {
		return jsonv2.MarshalEncode(enc, struct {
			Message       *Message                  `json:"message"`
			Configuration *SendMessageConfiguration `json:"configuration"`
			Metadata      Object                    `json:"metadata,omitzero"`
		}{s.Message, s.settings(), s.Metadata})
	}),
	jsonv2.MarshalToFunc(func(enc *jsontext.Encoder, a AuthenticationInfo) error {
		return jsonv2.MarshalEncode(enc, struct {
			Schemes     []string `json:"schemes"`
			Credentials string   `json:"credentials,omitzero"`
		}{[]string{a.Scheme}, a.Credentials})
	}),
	jsonv2.MarshalToFunc(func(enc *jsontext.Encoder, c AgentCard) error {
		return jsonv2.MarshalEncode(enc, c.legacy())
	}),
	jsonv2.MarshalToFunc(func(enc *jsontext.Encoder, s SecurityRequirement) error {
		return jsonv2.MarshalEncode(enc, map[string][]string(s))
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
var marshalers03 = jsonv2.JoinMarshalers(
	jsonv2.MarshalToFunc(func(enc *jsontext.Encoder, s TaskState) error {
		return enc.WriteToken(jsontext.String(s.legacy()))
	}),
	jsonv2.MarshalToFunc(func(enc *jsontext.Encoder, r Role) error {
		name := "user"
		if r == RoleAgent {
			name = "agent"
		}
		return enc.WriteToken(jsontext.String(name))
	}),
	jsonv2.MarshalToFunc(func(enc *jsontext.Encoder, p Part) error { return p.writeLegacy(enc) }),
	jsonv2.MarshalToFunc(func(enc *jsontext.Encoder, m Message) error {
		return jsonv2.MarshalEncode(enc, struct {
			Kind string `json:"kind"`
			message
		}{"message", message(m)})
	}),
	jsonv2.MarshalToFunc(func(enc *jsontext.Encoder, t Task) error {
		return jsonv2.MarshalEncode(enc, legacyTask{"task", t.ID, t.ContextID, t.Status, t.Artifacts, t.History, t.Metadata})
	}),
	jsonv2.MarshalToFunc(func(enc *jsontext.Encoder, u TaskStatusUpdateEvent) error {
		return jsonv2.MarshalEncode(enc, struct {
			Kind string `json:"kind"`
			statusUpdate
			Final bool `json:"final"`
		}{"status-update", statusUpdate(u), u.Status.State.ClosesStream()})
	}),
	jsonv2.MarshalToFunc(func(enc *jsontext.Encoder, u TaskArtifactUpdateEvent) error {
		return jsonv2.MarshalEncode(enc, struct {
			Kind string `json:"kind"`
			artifactUpdate
		}{"artifact-update", artifactUpdate(u)})
	}),
	jsonv2.MarshalToFunc(func(enc *jsontext.Encoder, s StreamResponse) error {
		switch {
		case s.Task != nil:
			return jsonv2.MarshalEncode(enc, s.Task)
		case s.Message != nil:
			return jsonv2.MarshalEncode(enc, s.Message)
		case s.StatusUpdate != nil:
			return jsonv2.MarshalEncode(enc, s.StatusUpdate)
		}
		return jsonv2.MarshalEncode(enc, s.ArtifactUpdate)
	}),
	jsonv2.MarshalToFunc(func(enc *jsontext.Encoder, s SendMessageResponse) error {
		if s.Task != nil {
			return jsonv2.MarshalEncode(enc, s.Task)
		}
		return jsonv2.MarshalEncode(enc, s.Message)
	}),
	jsonv2.MarshalToFunc(func(enc *jsontext.Encoder, c SendMessageConfiguration) error {
		return jsonv2.MarshalEncode(enc, struct {
			AcceptedOutputModes []string    `json:"acceptedOutputModes,omitempty"`
			Blocking            bool        `json:"blocking"`
			HistoryLength       *int        `json:"historyLength,omitzero"`
			Push                *legacyPush `json:"pushNotificationConfig,omitzero"`
		}{c.AcceptedOutputModes, !c.ReturnImmediately, c.HistoryLength, c.TaskPushNotificationConfig.legacy()})
	}),
	jsonv2.MarshalToFunc(func(enc *jsontext.Encoder, c TaskPushNotificationConfig) error {
		return jsonv2.MarshalEncode(enc, struct {
			TaskID string      `json:"taskId"`
			Config *legacyPush `json:"pushNotificationConfig"`
		}{c.TaskID, c.legacy()})
	}),
	jsonv2.MarshalToFunc(func(enc *jsontext.Encoder, g GetTaskRequest) error {
		g.Tenant = ""
		return jsonv2.MarshalEncode(enc, getTask(g))
	}),
	jsonv2.MarshalToFunc(func(enc *jsontext.Encoder, c CancelTaskRequest) error {
		c.Tenant = ""
		return jsonv2.MarshalEncode(enc, cancelTask(c))
	}),
	jsonv2.MarshalToFunc(func(enc *jsontext.Encoder, s SubscribeToTaskRequest) error {
		return jsonv2.MarshalEncode(enc, legacyConfigName{TaskID: s.ID})
	}),
	jsonv2.MarshalToFunc(func(enc *jsontext.Encoder, g GetTaskPushNotificationConfigRequest) error {
		return jsonv2.MarshalEncode(enc, legacyConfigName{g.TaskID, g.ID})
	}),
	jsonv2.MarshalToFunc(func(enc *jsontext.Encoder, d DeleteTaskPushNotificationConfigRequest) error {
		return jsonv2.MarshalEncode(enc, legacyConfigName{d.TaskID, d.ID})
	}),
	jsonv2.MarshalToFunc(func(enc *jsontext.Encoder, l ListTaskPushNotificationConfigsRequest) error {
		return jsonv2.MarshalEncode(enc, legacyConfigName{TaskID: l.TaskID})
	}),
	jsonv2.MarshalToFunc(func(enc *jsontext.Encoder, l ListTaskPushNotificationConfigsResponse) error {
		return jsonv2.MarshalEncode(enc, l.Configs)
	}),
	jsonv2.MarshalToFunc(func(enc *jsontext.Encoder, s SecurityScheme) error {
		return jsonv2.MarshalEncode(enc, s.legacy())
	}),
	jsonv2.MarshalToFunc(func(enc *jsontext.Encoder, _ Empty) error { return enc.WriteToken(jsontext.Null) }),
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

// settings returns the configuration for 0.3, which must set blocking: its default is the opposite of 1.0's.
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
		return jsonv2.MarshalEncode(enc, struct {
			Kind     string `json:"kind"`
			Text     string `json:"text"`
			Metadata Object `json:"metadata,omitzero"`
		}{"text", p.Text, p.Metadata})
	case PartRaw, PartURL:
		f := file{Name: p.Filename, MimeType: p.MediaType, URI: p.URL}
		if p.Kind == PartRaw {
			f.Bytes, f.URI = nonNil(p.Raw), ""
		}
		return jsonv2.MarshalEncode(enc, struct {
			Kind     string `json:"kind"`
			File     file   `json:"file"`
			Metadata Object `json:"metadata,omitzero"`
		}{"file", f, p.Metadata})
	case PartData:
		data, metadata, err := p.wrapped()
		if err != nil {
			return err
		}
		return jsonv2.MarshalEncode(enc, struct {
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
var marshalers03HTTP = jsonv2.JoinMarshalers(
	jsonv2.MarshalToFunc(func(enc *jsontext.Encoder, s TaskState) error {
		if s == StateCanceled {
			s = "TASK_STATE_CANCELLED"
		}
		return enc.WriteToken(jsontext.String(orUnspecified(string(s), "TASK_STATE_")))
	}),
	jsonv2.MarshalToFunc(func(enc *jsontext.Encoder, r Role) error {
		return enc.WriteToken(jsontext.String(orUnspecified(string(r), "ROLE_")))
	}),
	jsonv2.MarshalToFunc(func(enc *jsontext.Encoder, p Part) error { return p.writeLegacyHTTP(enc) }),
	jsonv2.MarshalToFunc(func(enc *jsontext.Encoder, m Message) error {
		return jsonv2.MarshalEncode(enc, struct {
			MessageID  string   `json:"messageId"`
			ContextID  string   `json:"contextId,omitzero"`
			TaskID     string   `json:"taskId,omitzero"`
			Role       Role     `json:"role"`
			Content    Parts    `json:"content"`
			Metadata   Object   `json:"metadata,omitzero"`
			Extensions []string `json:"extensions,omitempty"`
		}{m.MessageID, m.ContextID, m.TaskID, m.Role, m.Parts, m.Metadata, m.Extensions})
	}),
	jsonv2.MarshalToFunc(func(enc *jsontext.Encoder, u TaskStatusUpdateEvent) error {
		return jsonv2.MarshalEncode(enc, struct {
			statusUpdate
			Final bool `json:"final,omitzero"`
		}{statusUpdate(u), u.Status.State.ClosesStream()})
	}),
	jsonv2.MarshalToFunc(func(enc *jsontext.Encoder, c SendMessageConfiguration) error {
		return jsonv2.MarshalEncode(enc, struct {
			AcceptedOutputModes []string    `json:"acceptedOutputModes,omitempty"`
			Push                *legacyPush `json:"pushNotification,omitzero"`
			HistoryLength       *int        `json:"historyLength,omitzero"`
			Blocking            bool        `json:"blocking"`
		}{c.AcceptedOutputModes, c.TaskPushNotificationConfig.legacy(), c.HistoryLength, !c.ReturnImmediately})
	}),
	jsonv2.MarshalToFunc(func(enc *jsontext.Encoder, c TaskPushNotificationConfig) error {
		return jsonv2.MarshalEncode(enc, struct {
			Name   string      `json:"name"`
			Config *legacyPush `json:"pushNotificationConfig"`
		}{"tasks/" + c.TaskID + "/pushNotificationConfigs/" + c.ID, c.legacy()})
	}),
	// a2a-js reads the scheme of a2a.proto here, and a2a-go that of a2a.json.
	jsonv2.MarshalToFunc(func(enc *jsontext.Encoder, s SecurityScheme) error {
		return jsonv2.MarshalEncode(enc, s.hybrid())
	}),
	jsonv2.MarshalToFunc(func(enc *jsontext.Encoder, c CancelTaskRequest) error {
		return jsonv2.MarshalEncode(enc, struct {
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
		Data json.RawMessage `json:"data"`
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
	return jsonv2.MarshalEncode(enc, x)
}
