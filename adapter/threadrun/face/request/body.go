package request

import (
	"encoding/json"
	"net/http"

	"github.com/apbridge/apbridge/adapter/body"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

// Read reads a JSON request body of up to most bytes, or nil if there is none. In addition to JSON media types it
// accepts text/plain and a missing Content-Type, because real clients send them. The Origin guard prevents browsers
// from using them across sites.
func Read(w http.ResponseWriter, r *http.Request, most int64) (json.RawMessage, error) {
	return body.JSON(w, r, most, body.TypeJSON, "+json", "text/plain", "")
}

// Parse splits a request body. It refuses anything but one JSON object, invalid UTF-8, repeated names at any depth, and
// nesting deeper than depth (0 means no limit). If raw is nil, the object is empty.
func Parse(raw json.RawMessage, depth int) (*Fields, error) {
	o := &Fields{errs: new([]Problem)}
	if raw == nil {
		return o, nil
	}
	err := body.Object(raw, depth, func(name string, value json.RawMessage) error {
		if len(o.members) == mostMembers {
			return mapping.Errorf(mapping.Invalid, "too_many_keys", "The request body has more than %d keys.", mostMembers)
		}
		o.members = append(o.members, rawjson.Member{Name: name, Value: value})
		return nil
	})
	if err != nil {
		return nil, err
	}
	return o, nil
}

// mostMembers is the maximum number of members of an object that is split. No documented object has a hundred. Objects
// that are only passed on may have any number.
const mostMembers = 250
