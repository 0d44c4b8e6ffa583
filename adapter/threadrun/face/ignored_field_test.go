package face

import (
	"net/http"
	"testing"

	"github.com/apbridge/apbridge/adapter/body"
	"github.com/apbridge/apbridge/adapter/threadrun/face/request"
)

// Members that mean nothing to a request are told of in the answer; those beside what they
// seem to mean, and fields of other requests, are no misspellings.
func TestIgnoredFieldsAreTold(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"assistant_id":"a","input":{}}`:                                                                 "",
		`{"assistant_id":"a","eval_id":"x","input":{},"inputs":{}}`:                                       "eval_id, inputs",
		`{"assistant_id":"a","if_exists":"raise"}`:                                                        "if_exists",
		`{"assistant_id":"a","config":{"recursionLimit":3,"other":1}}`:                                    "",
		`{"assistant_id":"a","checkpoint_ns":"","eventId":1,"parentId":2,"thread_ts":"x","ui_config":{}}`: "checkpoint_ns, eventId, parentId, thread_ts, ui_config",
		`{"assistant_id":"a","command":{"resume":1,"why":2}}`:                                             "command.why",
	} {
		o, err := request.Parse([]byte(text), 0)
		if err != nil {
			t.Fatal(err)
		}
		told := http.Header{}
		o.TellIn(told)
		runBody{o}.read("")
		if err := o.Err(); err != nil || told.Get(body.IgnoredHeader) != want {
			t.Errorf("%s: told of %q, %v; want %q", text, told.Get(body.IgnoredHeader), err, want)
		}
	}
}
