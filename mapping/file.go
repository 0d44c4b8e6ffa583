package mapping

import (
	"encoding/json"
	"time"
)

// File is one file of a state (values.files), decoded.
type File struct {
	Path       string // canonical, see CleanPath
	Content    []byte // nil when Reference
	MIMEType   string
	Reference  string // artifact id of a file whose bytes are not in the state
	Deleted    bool
	ModifiedAt time.Time
}

// CleanPath makes the canonical path of an artifact: no leading "/" or "./",
// "/" between parts. It refuses, with an *Error of class Invalid, what could
// leave a folder or name a device: "..", drives, backslashes, NUL and control
// characters, empty names, reserved device names, more than 1024 bytes.
func CleanPath(p string) (string, error) { panic("stub") }

// ArtifactPath is the canonical path of an artifact with a file_name and
// relative_path: relative_path itself when its last part is file_name, else
// folder and name (dialects/taskstep 2.5).
func ArtifactPath(fileName, relativePath string) (string, error) { panic("stub") }

// FileStyle is how files stand in a state: as objects or as plain strings.
type FileStyle string

const (
	FileObject FileStyle = "object"
	FileString FileStyle = "string"
)

// EncodeFile is the value of values.files["/"+path]: by style object
// {content, encoding: utf-8|base64, mimeType, created_at, modified_at}, by
// style string the text alone.
func EncodeFile(a Artifact, content []byte, style FileStyle) json.RawMessage { panic("stub") }

// EncodeReference is the value for a file whose bytes stay out of the state.
func EncodeReference(a Artifact) json.RawMessage { panic("stub") }

// DecodeFiles reads values.files, or a delta of it, in every shape that is in
// use (dialects/taskstep 3.4). Entries it cannot read are skipped and named in
// bad.
func DecodeFiles(files json.RawMessage) (list []File, bad []string) { panic("stub") }

// ChangedFiles are the files that are new or different in after.
func ChangedFiles(before, after *Fold) []File { panic("stub") }
