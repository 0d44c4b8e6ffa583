package wire

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/go-json-experiment/json/jsontext"
)

// PartKind is the kind of a part's content.
type PartKind int

const (
	PartText PartKind = iota + 1
	PartRaw           // a file's bytes
	PartURL           // a link to a file
	PartData          // any JSON value
)

// Part is a piece of a message or artifact (S 4.1.6). It has the one content that Kind names.
type Part struct {
	Kind PartKind
	Text string
	Raw  []byte
	URL  string
	Data json.RawMessage // any JSON value, null included; nil is written as null

	Filename  string // lost in 0.3 unless the part is a file
	MediaType string // lost in 0.3 unless the part is a file
	Metadata  Object

	BadRaw bool // Raw is missing because it was not base64; set by a lenient Reader
}

// Parts is a list that must have an element when it is written (S 5.7).
type Parts []Part

// TextPart returns a part of plain text.
func TextPart(text string) Part { return Part{Kind: PartText, Text: text} }

// DataPart returns a part with a JSON value.
func DataPart(value json.RawMessage) Part { return Part{Kind: PartData, Data: value} }

// wrappedData marks, in a part's metadata, a value that 0.3 cannot carry as data and that is wrapped in {"value": …}.
// Both official SDKs, @a2a-js/sdk and a2a-go, write and remove this mark.
const wrappedData = "data_part_compat"

// readPart is a part of any version.
type readPart struct {
	Kind      string         `json:"kind"`
	Text      *string        `json:"text"`
	Raw       *string        `json:"raw"`
	URL       *string        `json:"url"`
	Data      jsontext.Value `json:"data"`
	File      *readFile      `json:"file"`
	Filename  string         `json:"filename"`
	MediaType string         `json:"mediaType"`
	MimeType  string         `json:"mimeType"`
	Metadata  Object         `json:"metadata"`
}

// readFile is a file of 0.3: bytes and uri in a2a.json, fileWithBytes and fileWithUri in a2a.proto.
type readFile struct {
	Name          string  `json:"name"`
	MimeType      string  `json:"mimeType"`
	Bytes         *string `json:"bytes"`
	URI           *string `json:"uri"`
	FileWithBytes *string `json:"fileWithBytes"`
	FileWithURI   *string `json:"fileWithUri"`
}

// part converts a part of a document of version v. It refuses a part with no or several contents. If lenient is set, it
// takes the content that kind names, or else the first, and returns a part without content with a Kind of 0.
func (x *readPart) part(v Version, lenient bool) (Part, error) {
	p := Part{Filename: x.Filename, MediaType: x.MediaType, Metadata: x.Metadata}
	if p.MediaType == "" {
		p.MediaType = x.MimeType
	}
	if f := x.File; f != nil {
		if p.Filename == "" {
			p.Filename = f.Name
		}
		if p.MediaType == "" {
			p.MediaType = f.MimeType
		}
		for _, coded := range []*string{f.Bytes, f.FileWithBytes} {
			if x.Raw == nil {
				x.Raw = coded
			}
		}
		for _, uri := range []*string{f.URI, f.FileWithURI} {
			if x.URL == nil {
				x.URL = uri
			}
		}
	}
	var kinds []PartKind
	for _, c := range []struct {
		is   PartKind
		here bool
	}{{PartText, x.Text != nil}, {PartRaw, x.Raw != nil}, {PartURL, x.URL != nil}, {PartData, x.Data != nil}} {
		if c.here {
			kinds = append(kinds, c.is)
		}
	}
	// Some writers send every member, with null for those that are absent. A null of data counts only if it is alone.
	if len(kinds) > 1 && x.Data.Kind() == 'n' {
		kinds = kinds[:len(kinds)-1]
	}
	switch {
	case len(kinds) == 1:
	case !lenient:
		if v != V1 {
			return p, problemError("must have exactly one of text, file and data")
		}
		return p, problemError("must have exactly one of text, raw, url and data")
	case len(kinds) == 0:
		return p, nil
	}
	p.Kind = kinds[0]
	for _, is := range kinds {
		if is == PartText && x.Kind == "text" || is == PartData && x.Kind == "data" || (is == PartRaw || is == PartURL) && x.Kind == "file" {
			p.Kind = is
			break
		}
	}
	switch p.Kind {
	case PartText:
		p.Text = *x.Text
	case PartRaw:
		var err error
		if p.Raw, err = decodeBase64(*x.Raw); err != nil && !lenient {
			return p, err
		}
		p.BadRaw = err != nil
	case PartURL:
		p.URL = *x.URL
	case PartData:
		p.Data = json.RawMessage(x.Data)
		if v == V03HTTP {
			p.Data = unnest(p.Data)
		}
		if v != V1 {
			p.unwrap()
		}
	}
	return p, nil
}

// decodeBase64 reads the alphabets of RFC 4648, sections 4 and 5, with or without padding, as ProtoJSON demands.
func decodeBase64(s string) ([]byte, error) {
	enc := base64.RawStdEncoding
	if strings.ContainsAny(s, "-_") {
		enc = base64.RawURLEncoding
	}
	raw, err := enc.DecodeString(strings.TrimRight(s, "="))
	if err != nil {
		return nil, problemError("must be base64")
	}
	return raw, nil
}

// unnest returns the data member of 0.3's DataPart.
func unnest(data json.RawMessage) json.RawMessage {
	if inner := rawjson.Get(data, "data"); inner != nil && rawjson.CountMembers(data) == 1 {
		return inner
	}
	return data
}

// wrapped returns data and metadata for 0.3, whose data parts are objects.
func (p *Part) wrapped() (json.RawMessage, Object, error) {
	if rawjson.Kind(p.Data) == '{' {
		return p.Data, p.Metadata, nil
	}
	data, err := rawjson.WithMember(nil, "value", orNull(p.Data))
	if err != nil {
		return nil, nil, err
	}
	metadata, err := rawjson.WithMember(json.RawMessage(p.Metadata), wrappedData, json.RawMessage("true"))
	return data, Object(metadata), err
}

// unwrap reverses wrapped. A part that is not marked stays as it is.
func (p *Part) unwrap() {
	if string(rawjson.Get(json.RawMessage(p.Metadata), wrappedData)) != "true" {
		return
	}
	if value := rawjson.Get(p.Data, "value"); value != nil {
		p.Data = value
	}
	rest, err := rawjson.Without(json.RawMessage(p.Metadata), wrappedData)
	if err != nil || rawjson.CountMembers(rest) == 0 {
		rest = nil
	}
	p.Metadata = Object(rest)
}

func orNull(b json.RawMessage) json.RawMessage {
	if len(b) == 0 {
		return json.RawMessage("null")
	}
	return b
}
