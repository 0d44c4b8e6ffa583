package itemquery

import (
	"encoding/json"
	"testing"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

func TestFilter(t *testing.T) {
	t.Parallel()
	const value = `{"n":4,"\u00e9\n":1,"é":2,"n":5,"s":"m","o":{"a":1,"b":2},"z":null}`
	for _, c := range []struct {
		filter string
		ok     bool
	}{
		{`{"é\n":1,"\u00e9":2}`, true}, {`{"\\u00e9":2}`, false}, {``, true}, {`null`, true}, {`{}`, true}, {`{"n":5}`, true}, {`{"n":5.0}`, true}, {`{"n":6}`, false}, {`{"x":5}`, false},
		{`{"o":{"a":1}}`, true}, {`{"n":5,"s":"x"}`, false}, {`{"z":null}`, true}, {`{"x":null}`, false},
		{`{"n":{"$eq":5}}`, true}, {`{"n":{"$ne":5}}`, false}, {`{"x":{"$ne":5}}`, true}, {`{"x":{"$eq":null}}`, false},
		{`{"n":{"$gt":4,"$lt":6}}`, true}, {`{"n":{"$gt":5}}`, false}, {`{"n":{"$gte":5}}`, true}, {`{"n":{"$lte":4.5}}`, false}, {`{"n":{"$lte":5}}`, true},
		{`{"s":{"$gt":"a"}}`, true}, {`{"s":{"$lt":"a"}}`, false}, {`{"s":{"$gt":1}}`, false}, {`{"n":{"$gt":"1"}}`, false}, {`{"x":{"$gt":1}}`, false},
		{`{"$or":[{"n":6},{"s":"m"}]}`, true}, {`{"$or":[{"n":6},{"s":"x"}]}`, false}, {`{"$or":[{"n":6},{"s":"m"}],"n":6}`, false},
		{`{"$and":[{"n":5},{"s":"m"}]}`, true}, {`{"$and":[{"n":5},{"s":"x"}]}`, false}, {`{"$and":[{"n":{"$gt":4}},{"n":{"$lt":6}}]}`, true},
		{`{"$or":[{"$and":[{"n":5},{"s":"x"}]},{"$and":[{"n":5},{"$or":[{"x":1},{"z":null}]}]}]}`, true}, {`{"$or":[{}]}`, true},
		{`{"$or":[{"x":{"$ne":1}}],"$and":[{"o":{"b":2}}]}`, true},
		{`{"n":{"$in":[4,5.0]}}`, true}, {`{"s":{"$in":["a","b"]}}`, false}, {`{"o":{"$in":[{"b":2,"a":1}]}}`, true}, {`{"n":{"$in":[]}}`, false}, {`{"x":{"$in":[null]}}`, false}, {`{"z":{"$in":[null]}}`, true},
		{`{"n":{"$nin":[4,5.0]}}`, false}, {`{"n":{"$nin":[4,6],"$gt":4}}`, true}, {`{"s":{"$nin":[]}}`, true}, {`{"x":{"$nin":[null,1]}}`, true}, {`{"z":{"$nin":[null]}}`, false},
		{`{"o":{"a":{"$gte":1},"b":2}}`, true}, {`{"o":{"a":{"$gt":1}}}`, false}, {`{"o":{"c":{"$ne":1}}}`, true}, {`{"x":{"c":{"$ne":1}}}`, false}, {`{"n":{"c":{"$exists":false}}}`, false}, {`{"o":{}}`, true}, {`{"s":{}}`, false},
		{`{"n":{"$exists":true}}`, true}, {`{"x":{"$exists": true }}`, false}, {`{"x":{"$exists":false}}`, true}, {`{"z":{"$exists":true}}`, true}, {`{"n":{"$exists":true,"$gt":9}}`, false},
	} {
		if f, err := ParseFilter([]byte(c.filter)); err != nil || f.Match([]byte(value)) != c.ok {
			t.Errorf("%s: %v, %v", c.filter, !c.ok, err)
		}
	}
	for _, filter := range []string{`[]`, `{"x":{"$regex":"a"}}`, `{"x":{"$eq":1,"a":2}}`, `{"n":{"$lt":1,"$all":[5]}}`, `{"n":{"$in":5}}`, `{"n":{"$in":{"a":1}}}`, `{"n":{"$nin":5}}`, `{"n":{"$exists":1}}`, `{"n":{"$gt":[1]}}`, `{"n":{"$lte":null}}`, `{"a":`,
		`{"$or":[]}`, `{"$and":[]}`, `{"$or":{"n":5}}`, `{"$or":[5]}`, `{"$or":[null]}`, `{"$and":[{"n":{"$all":[5]}}]}`, `{"n":{"$or":[{"$gt":1}]}}`,
		`{"$nor":[{"n":5}]}`, `{"n":5,"$not":{"s":"m"}}`, `{"$and":[{"$eq":5}]}`, `{"o":{"a":{"$near":1}}}`, `{"o":{"a":1,"b":{"$gt":[]}}}`} {
		if _, err := ParseFilter([]byte(filter)); mapping.Classify(err).Class != mapping.Invalid {
			t.Errorf("ParseFilter(%s): %v, want Invalid", filter, err)
		}
	}
}

func FuzzFilter(f *testing.F) {
	f.Add([]byte(`{"a":1,"b":"x"}`), []byte(`{"a":{"$gt":0},"b":{"$ne":"y"}}`))
	f.Add([]byte(`{"a":1}`), []byte(`{"$or":[{"a":1},{"$and":[{"b":{"$ne":2}}]}]}`))
	f.Fuzz(func(t *testing.T, value, filter []byte) {
		read, err := ParseFilter(filter)
		if err != nil && mapping.Classify(err).Class != mapping.Invalid {
			t.Errorf("%v is not Invalid", err)
		}
		read.Match(value)
		if json.Valid(value) && !rawjson.Contains(value, value) {
			t.Errorf("%q does not contain itself", value)
		}
	})
}
