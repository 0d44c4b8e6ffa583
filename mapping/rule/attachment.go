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

// Attachment is a file that stands in the content of a message.
type Attachment struct {
	// Name is what the file is called, without a folder: as the message says, else, or where that cannot be a path,
	// made from the message's id and the media type.
	Name     string
	MIMEType string // "" for none
	// Link is the address or id of a file that the message only names. Its bytes cannot be had: the bridge fetches
	// nothing for a client, and ids are the business of a model's provider. "": Open reads the bytes.
	Link string

	written  json.RawMessage // the bytes, as a JSON string
	skip     int             // of them, as decoded: the head of a data URL
	encoding encoding
}

// encoding is how the bytes of an attachment are written.
type encoding int

const (
	inBase64  encoding = iota
	asText             // they are the text's own
	asPercent          // a data URL without base64 (RFC 2397)
)

// Attachments returns the files in a message's content, in their order.
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

// Held reports whether the message holds the bytes.
func (a Attachment) Held() bool { return a.Link == "" }

// Open reads the bytes of a held attachment. They are decoded as they are read, out of the message itself. Reading
// fails where the data is not what the message says it is.
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

var (
	errNotBase64  = errors.New("its data is not base64")
	errNotPercent = errors.New("its data URL is not percent-encoded")
)

// base64Reader reads either alphabet, with padding or without, and skips line breaks.
func base64Reader(text []byte) io.Reader {
	text = bytes.TrimRight(text, "=\r\n\t ")
	coding := base64.RawStdEncoding
	if bytes.ContainsAny(text, "-_") {
		coding = base64.RawURLEncoding
	}
	return worded{base64.NewDecoder(coding, bytes.NewReader(text))}
}

// worded has every failure of a decoder say what the data is not.
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

// Words returns the words of the input's last human message: its text, or, without a word, the files in it by their
// names. "" where it says nothing.
func (in *Input) Words() string {
	if strings.TrimSpace(in.Text) != "" {
		return in.Text
	}
	_, request := in.PartConversation(in.Messages)
	if request == nil {
		return in.Text
	}
	return Say(request, func(a Attachment) string { return a.Name })
}

// HeldAttachments counts the files whose bytes the messages hold.
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

// CheckAttachments refuses files in messages that cannot be artifacts: bytes that are not what they are said to be,
// with an *Error of class Invalid, or more than limit of them (0: any number), with one of class TooLarge. It is for
// agents that are given files beside the messages.
func (in *Input) CheckAttachments(limit int64) error {
	for i, m := range in.Messages {
		if err := checkAttachments(m, in.placeOf(i), limit); err != nil {
			return err
		}
	}
	return nil
}

// CheckAttachments refuses files in messages of a state update, as Input.CheckAttachments those of an input, and counts
// the held ones.
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
			"%s: the file %q in the content has %d bytes, and limits.artifact of this bridge allows %d.", at, a.Name, n, limit)
	}
	return nil
}

// placeOf is where a message of the input stood in the request.
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

// Untold reports what of the messages cannot be told to an agent that takes words and files: files that are only linked
// to are told by their addresses, and parts that are neither text nor a file, or a file that the patterns exclude (see
// Excluded), are left out.
func (in *Input) Untold(exclude []string) (links, parts bool) {
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

// Unsaid reports what stands beside the content of the messages that an agent which takes words and files is not told:
// the names that people go by, and metadata (Agent Protocol, schema Message). The names of what agents and tools said
// are those of nodes and of calls.
func (in *Input) Unsaid() (names, metadata bool) {
	for _, m := range in.Messages {
		name, _ := rawjson.Text(rawjson.Get(m, "name"))
		names = names || name != "" && messageKind(m) == typeHuman
		metadata = metadata || rawjson.CountMembers(rawjson.Get(m, "metadata")) > 0
	}
	return names, metadata
}

// Say returns the text of a message's content, followed by the names of the files in it. name returns the agent's name
// of a held file, "" where the agent was not given it.
func Say(message json.RawMessage, name func(Attachment) string) string {
	return sayAs(MessageText(message), message, name)
}

// SayInput is Say for a message of the state that the input was merged into. The request is not read out of it again:
// its words may be long, and the input has them.
func (in *Input) SayInput(message json.RawMessage, name func(Attachment) string) string {
	if in.HasText && bytes.Equal(message, in.request()) {
		return sayAs(in.Text, message, name)
	}
	return Say(message, name)
}

// sayAs is Say for a message whose text is known.
func sayAs(text string, message json.RawMessage, name func(Attachment) string) string {
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

// WithContent returns the message with a text for its content.
func WithContent(message json.RawMessage, text string) json.RawMessage {
	said, err := rawjson.WithMember(message, "content", rawjson.Quote(text))
	if err != nil {
		return message
	}
	return said
}

// HeldSums returns the SHA-256 sums, in hexadecimal digits, of the files that messages hold.
func HeldSums(messages []json.RawMessage) map[string]bool {
	sums := map[string]bool{}
	for _, m := range messages {
		for _, f := range Attachments(m) {
			if !f.Held() {
				continue
			}
			digest := sha256.New()
			if _, err := io.Copy(digest, f.Open()); err == nil {
				sums[hex.EncodeToString(digest.Sum(nil))] = true
			}
		}
	}
	return sums
}
