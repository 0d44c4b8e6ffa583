package rule

import (
	"encoding/json"
	"net/url"
	"slices"
	"strconv"

	"github.com/apbridge/apbridge/mapping/rawjson"
)

// KeyData is the member of a message's additional_kwargs with the numbers of the text blocks that are JSON data. A2A
// clients send data, which models read as text.
const KeyData = "a2a_data"

// IsData returns a function that reports whether a block of a message's content is JSON data, by its number.
func IsData(message json.RawMessage) func(i int) bool {
	numbers := rawjson.ElementsOf(rawjson.Get(rawjson.Get(message, "additional_kwargs"), KeyData))
	return func(i int) bool {
		return slices.ContainsFunc(numbers, func(n json.RawMessage) bool { return string(n) == strconv.Itoa(i) })
	}
}

// Extra is a part of a message that is neither text nor the bytes of a file: a linked file or JSON data.
type Extra struct {
	Link Attachment      // with the name that the message says
	Data json.RawMessage // nil for a link
}

// TakeExtras returns the extras of a message in order, and the message without them. Only absolute URLs count as links.
func TakeExtras(message json.RawMessage) (rest json.RawMessage, extras []Extra) {
	isData := IsData(message)
	content := rawjson.Get(message, "content")
	if rawjson.Kind(content) != '[' {
		return message, nil
	}
	var others []json.RawMessage
	for i, block := range rawjson.ElementsOf(content) {
		p := partOf(block)
		if f, ok := p.file(); ok && !f.Held() && isAbsolute(f.Link) {
			extras = append(extras, Extra{Link: f})
			continue
		}
		if data := json.RawMessage(rawjson.TextOf(p.said)); isData(i) && rawjson.Valid(data) {
			extras = append(extras, Extra{Data: data})
			continue
		}
		others = append(others, block)
	}
	if len(extras) == 0 {
		return message, nil
	}
	rest, err := rawjson.WithMember(message, "content", rawjson.Array(others...))
	if err != nil {
		return message, nil
	}
	return rest, extras
}

func isAbsolute(link string) bool {
	u, err := url.Parse(link)
	return err == nil && u.IsAbs()
}
