package rule

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

// This file reads the parts of a message's content. Files have the forms of LangChain's content blocks of both
// generations (source_type; data, url, fileId), OpenAI's chat and responses (image_url, file, input_audio; input_file),
// Anthropic's (source), Google's (media) and AG-UI's (binary). They differ only in names.

// part is an element of a content, merged with the object of its file.
type part struct {
	kind  string
	said  json.RawMessage // the text of a text part
	names map[string]json.RawMessage
}

// eachPart visits the parts of a message's content. A plain string has none.
func eachPart(message json.RawMessage, visit func(part)) {
	content := rawjson.Get(message, "content")
	if rawjson.Kind(content) != '[' {
		return
	}
	rawjson.ScanArray(content, rawjson.SkipSpace(content, 0), func(b []byte, i int) (int, bool) {
		end, ok := rawjson.Scan(b, i)
		if ok {
			visit(partOf(b[i:end:end]))
		}
		return end, ok
	})
}

// inner are the members of a part with its file, in any of the forms.
var inner = []string{"image_url", "file", "source", "input_audio", "audio", "video_url", "metadata"}

// facts are the members that describe a file, in a part and in the objects within it.
var facts = []string{
	"data", "base64", "file_data", "image", "text", "url", "image_url", "video_url", "file_url", "fileUri", "file_uri", "id", "file_id", "fileId",
	"mime_type", "mimeType", "media_type", "mediaType", "format", "filename", "file_name", "name", "title", "source_type",
}

func partOf(b json.RawMessage) (p part) {
	if rawjson.Kind(b) == '"' {
		return part{kind: "text", said: b}
	}
	if p.kind = rawjson.GetText(b, "type"); isText(p.kind) || rawjson.Kind(b) != '{' {
		p.said = rawjson.Get(b, "text")
		return p
	}
	p.names = map[string]json.RawMessage{}
	p.addMember(b, true)
	return p
}

// isText reports whether parts of a kind are text.
func isText(kind string) bool { return kind == "text" || kind == "input_text" || kind == "output_text" }

// addMember records the members with text. Outer ones take precedence.
func (p *part) addMember(b json.RawMessage, outer bool) {
	var within []json.RawMessage
	_ = rawjson.EachMember(b, func(name rawjson.Quoted, value json.RawMessage) {
		key := name.Text()
		if outer && rawjson.Kind(value) == '{' && slices.Contains(inner, key) {
			within = append(within, value)
			if kind, ok := rawjson.Text(rawjson.Get(value, "type")); ok && key == "source" {
				p.names["source_type"] = rawjson.Quote(kind)
			}
		}
		if _, there := p.names[key]; !there && rawjson.Kind(value) == '"' && slices.Contains(facts, key) {
			p.names[key] = value
		}
	})
	for _, w := range within {
		p.addMember(w, false)
	}
}

// isWords reports whether the part is text.
func (p part) isWords() bool { return rawjson.Kind(p.said) == '"' }

// isCall reports whether the part repeats an entry of tool_calls.
func (p part) isCall() bool {
	return slices.Contains([]string{"tool_use", "tool_call", "function_call", "input_json_delta"}, p.kind)
}

// file returns the file of the part, or false.
func (p part) file() (a Attachment, ok bool) {
	if p.names == nil || !slices.Contains([]string{
		"image", "file", "audio", "video", "document", "media", "binary", "text-plain", "image_url", "video_url", "input_image", "input_file", "input_audio", "input_video",
	}, p.kind) {
		return Attachment{}, false
	}
	a.Name = p.first("filename", "file_name", "name", "title")
	a.MIMEType = mediaType(p.first("mime_type", "mimeType", "media_type", "mediaType"), p.kind, p.first("format"))
	given := p.written("data", "base64", "file_data", "image")
	link := p.written("url", "image_url", "video_url", "file_url", "fileUri", "file_uri")
	switch source := p.first("source_type"); {
	case given == nil && isDataURL(link):
		given = link
		fallthrough
	case given != nil:
		return a.holding(given, source), true
	case link != nil:
		a.Link = rawjson.TextOf(link)
	case p.names["text"] != nil:
		return a.holding(p.names["text"], "text"), true
	case source == "base64" && p.names["data"] != nil: // an empty file
		return a.holding(p.names["data"], source), true
	default:
		a.Link = p.first("file_id", "fileId", "id")
	}
	return a, a.Link != ""
}

// first returns the first of the members that exists.
func (p part) first(names ...string) string {
	text := rawjson.TextOf(p.written(names...))
	return text
}

func (p part) written(names ...string) json.RawMessage {
	for _, name := range names {
		if v := p.names[name]; len(v) > len(`""`) {
			return v
		}
	}
	return nil
}

// The beginning of a data URL, and the end of its media type in base64. Both are case-insensitive (RFC 2397).
const (
	dataScheme = "data:"
	base64Mark = ";base64"
)

func isDataURL(quoted json.RawMessage) bool {
	return len(quoted) > len(dataScheme) && strings.EqualFold(string(quoted[1:1+len(dataScheme)]), dataScheme)
}

// holding returns the attachment with its encoded bytes. source is "text" if they are plain text.
func (a Attachment) holding(written json.RawMessage, source string) Attachment {
	a.written = written
	if source == "text" {
		a.encoding = asText
		return a
	}
	if !isDataURL(written) {
		return a
	}
	head, _, found := bytes.Cut(rawjson.Quoted(written).Bytes(), []byte(","))
	if !found {
		return a // "data:" alone is refused because it is not base64
	}
	a.skip = len(head) + 1
	media := string(head[len(dataScheme):])
	if at := len(media) - len(base64Mark); at >= 0 && strings.EqualFold(media[at:], base64Mark) {
		media = media[:at]
	} else {
		a.encoding = asPercent
	}
	if a.MIMEType == "" || strings.HasSuffix(a.MIMEType, "/*") {
		a.MIMEType = mediaType(media, "", "")
	}
	return a
}

// mediaType returns the media type of a file if it is valid. An audio format ("wav") becomes its subtype.
func mediaType(said, kind, format string) string {
	said = strings.ToLower(strings.TrimSpace(said))
	if said == "" && kind == "input_audio" && format != "" {
		said = "audio/" + strings.ToLower(format)
	}
	if !strings.Contains(said, "/") || len(said) > 200 || !mapping.IsText(said) || strings.ContainsAny(said, "\r\n") {
		return ""
	}
	return said
}
