package rule

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/url"
	"strings"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/state"
)

// Attachment is a file in the content of a message.
type Attachment struct {
	// Name is the file's name without a folder. It comes from the message, or is derived from the message's id and the
	// media type if the message has none or it cannot be a path.
	Name     string
	MIMEType string // "" for none
	// Link is the address or id of a file that the message only references. Its bytes are not available, because the
	// bridge downloads nothing for a client and only a model's provider knows the ids. If Link is "", Open reads the
	// bytes.
	Link string

	written  json.RawMessage // the bytes, as a JSON string
	skip     int             // number of decoded bytes to skip: the head of a data URL
	encoding encoding
}

// encoding is the encoding of an attachment's bytes.
type encoding int

const (
	inBase64  encoding = iota
	asText             // plain text
	asPercent          // a data URL without base64 (RFC 2397)
)

// Attachments returns the files in a message's content, in order.
func Attachments(message json.RawMessage) (list []Attachment) {
	eachPart(message, func(p part) {
		if f, ok := p.file(); ok {
			list = append(list, f)
		}
	})
	if len(list) == 0 {
		return nil
	}
	id := state.IDOfMessage(message)
	for i := range list {
		list[i].Name = fileName(list[i].Name, id, list[i].MIMEType)
	}
	return list
}

// Held reports whether the message contains the bytes.
func (a Attachment) Held() bool { return a.Link == "" }

// Open reads the bytes of a held attachment. They are decoded while being read. Reading fails if the data is not in the
// declared encoding.
func (a Attachment) Open() io.Reader {
	text := rawjson.Quoted(rawjson.Trim(a.written)).Bytes()
	text = text[min(a.skip, len(text)):]
	switch a.encoding {
	case asText:
		return bytes.NewReader(text)
	case asPercent:
		plain, err := url.PathUnescape(string(text))
		if err != nil {
			return failing{errNotPercent}
		}
		return strings.NewReader(plain)
	}
	return base64Reader(text)
}

// Sum returns the hexadecimal SHA-256 sum and the number of the bytes of a held attachment.
func (a Attachment) Sum() (sum string, size int64, err error) {
	digest := sha256.New()
	size, err = io.Copy(digest, a.Open())
	return hex.EncodeToString(digest.Sum(nil)), size, err
}

var (
	errNotBase64  = errors.New("its data is not base64")
	errNotPercent = errors.New("its data URL is not percent-encoded")
)

// base64Reader decodes either alphabet, with or without padding, and skips line breaks.
func base64Reader(text []byte) io.Reader {
	text = bytes.TrimRight(text, "=\r\n\t ")
	coding := base64.RawStdEncoding
	if bytes.ContainsAny(text, "-_") {
		coding = base64.RawURLEncoding
	}
	return worded{base64.NewDecoder(coding, bytes.NewReader(text))}
}

// worded replaces every decoding error with a description of the data.
type worded struct{ io.Reader }

func (w worded) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p)
	if err != nil && err != io.EOF { //nolint:errorlint // only a bare io.EOF is the end
		err = errNotBase64
	}
	return n, err
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// Words returns the text of the input's last human message, or the names of its files if it has none, or "".
func (in *Input) Words() string {
	if strings.TrimSpace(in.Text) != "" {
		return in.Text
	}
	_, request := in.PartConversation(in.Messages)
	if request == nil {
		return in.Text
	}
	return TextWithFiles(request, func(a Attachment) string { return a.Name })
}

// HeldAttachments counts the files whose bytes are in the messages.
func HeldAttachments(messages []json.RawMessage) (n int) {
	for _, m := range messages {
		for _, a := range Attachments(m) {
			if a.Held() {
				n++
			}
		}
	}
	return n
}

// CheckAttachments refuses files in messages that cannot be artifacts. The *Error has class Invalid if the bytes are
// not in the declared encoding, and TooLarge if there are more than limit bytes (0 means no limit). It is for agents
// that receive files separately from the messages.
func (in *Input) CheckAttachments(limit int64) error {
	for i, m := range in.Messages {
		if err := checkAttachments(m, in.placeOf(i), limit); err != nil {
			return err
		}
	}
	return nil
}

// CheckAttachments checks files in messages of a state update like Input.CheckAttachments, and counts those that the
// messages contain.
func CheckAttachments(messages []json.RawMessage, limit int64) (held int, err error) {
	for _, m := range messages {
		if err := checkAttachments(m, place{"values.messages", -1}, limit); err != nil {
			return 0, err
		}
	}
	return HeldAttachments(messages), nil
}

func checkAttachments(message json.RawMessage, at place, limit int64) error {
	for _, a := range Attachments(message) {
		if !a.Held() {
			continue
		}
		if err := a.check(at, limit); err != nil {
			return err
		}
	}
	return nil
}

func (a Attachment) check(at place, limit int64) error {
	n, err := io.Copy(io.Discard, a.Open())
	if err != nil {
		return mapping.InvalidAt(at.String(), "the file %q in the content cannot be read: %v. Send standard base64, or a data: URL", a.Name, err)
	}
	if limit > 0 && n > limit {
		return mapping.Errorf(mapping.TooLarge, "artifact_too_large",
			"%s: the file %q in the content has %d bytes, and limits.artifact of this bridge is %d.", at, a.Name, n, limit)
	}
	return nil
}

// placeOf returns the place of a message of the input in the request.
func (in *Input) placeOf(i int) place {
	own := len(in.Messages) - in.further
	switch {
	case i >= own:
		return place{"messages", i - own}
	case in.single:
		return place{"input.messages", -1}
	default:
		return place{"input.messages", i}
	}
}

// LostAttachments reports losses in the messages for an agent that accepts text and files. links means that some files
// are only linked; the agent receives their addresses. parts means that some parts are neither text nor a file, or that
// the patterns exclude a file (see Excluded).
func (in *Input) LostAttachments(exclude []string) (links, parts bool) {
	for _, m := range in.Messages {
		calls := len(toolCalls(m)) > 0
		eachPart(m, func(p part) {
			f, ok := p.file()
			links = links || ok && !f.Held()
			parts = parts || !ok && !p.isWords() && !(calls && p.isCall()) || ok && f.Held() && Excluded(f.Name, exclude)
		})
	}
	return links, parts
}

// LostMessageData reports whether messages have names of people, or metadata (Agent Protocol, schema Message), which do
// not reach an agent that accepts text and files. Names in messages of agents and tools are not counted, because they
// name nodes and calls.
func (in *Input) LostMessageData() (names, metadata bool) {
	for _, m := range in.Messages {
		name := rawjson.GetText(m, "name")
		names = names || name != "" && messageKind(m) == typeHuman
		metadata = metadata || rawjson.CountMembers(rawjson.Get(m, "metadata")) > 0
	}
	return names, metadata
}

// TextWithFiles returns the text of a message's content, followed by the names of its files. name returns the agent's
// name for a held file, or "" if the agent did not receive the file.
func TextWithFiles(message json.RawMessage, name func(Attachment) string) string {
	return textWithFiles(MessageText(message), message, name)
}

// InputTextWithFiles is TextWithFiles for a message of the state into which the input was merged. It uses the text of the
// input, which may be long, instead of reading the message again.
func (in *Input) InputTextWithFiles(message json.RawMessage, name func(Attachment) string) string {
	if in.HasText && bytes.Equal(message, in.request()) {
		return textWithFiles(in.Text, message, name)
	}
	return TextWithFiles(message, name)
}

// textWithFiles is TextWithFiles for a message with known text.
func textWithFiles(text string, message json.RawMessage, name func(Attachment) string) string {
	var lines []string
	for _, a := range Attachments(message) {
		switch at := a.Link; {
		case at != "":
			lines = append(lines, "[Attached link: "+at+"]")
		default:
			lines = append(lines, attachedLine(name(a), a.Name))
		}
	}
	return withLines(text, lines...)
}

func attachedLine(at, name string) string {
	if at == "" {
		return "[Attached file, not passed on: " + name + "]"
	}
	return "[Attached file: " + at + "]"
}

// WithContent returns the message with text as its content.
func WithContent(message json.RawMessage, text string) json.RawMessage {
	said, err := rawjson.WithMember(message, "content", rawjson.Quote(text))
	if err != nil {
		return message
	}
	return said
}

// HeldSums returns the hexadecimal SHA-256 sums of the files in messages.
func HeldSums(messages []json.RawMessage) map[string]bool {
	sums := map[string]bool{}
	for _, m := range messages {
		for _, f := range Attachments(m) {
			if !f.Held() {
				continue
			}
			if sum, _, err := f.Sum(); err == nil {
				sums[sum] = true
			}
		}
	}
	return sums
}
