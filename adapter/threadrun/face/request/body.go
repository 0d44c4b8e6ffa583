package request

import (
	"encoding/json"
	"net/http"

	"github.com/apbridge/apbridge/adapter/body"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

// Read reads a request body of JSON of most bytes, nil when there is none. Beside types of JSON it takes text/plain and
// none at all, which real clients send; the guard of Origin keeps browsers from using them across sites.
func Read(w http.ResponseWriter, r *http.Request, most int64) (json.RawMessage, error) {
	return body.JSON(w, r, most, body.TypeJSON, "+json", "text/plain", "")
}

// Parse splits a request body. It refuses what is not one JSON object, invalid UTF-8, names that occur twice, at any
// depth, and nesting deeper than depth (0: no limit). nil bytes are an empty object.
func Parse(raw json.RawMessage, depth int) (*Fields, error) {
	o := &Fields{errs: new([]Complaint)}
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

// mostMembers is how many members an object of a request may have that is split: no documented one has a hundred.
// Objects that are only carried may have any number.
const mostMembers = 250
