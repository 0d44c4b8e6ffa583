package face

import (
	"net/http"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/body"
	"github.com/apbridge/apbridge/adapter/threadrun/face/request"
)

// Unknown members of a request are named in the response. They do not count as misspelt if the request also has the
// similar member, or if they are fields of another request.
func TestIgnoredFieldsAreReported(t *testing.T) {
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
		o.ReportIgnoredIn(told)
		readRunBody(o, "")
		if err := o.Err(); err != nil || told.Get(body.IgnoredHeader) != want {
			t.Errorf("%s: reported %q, %v; want %q", text, told.Get(body.IgnoredHeader), err, want)
		}
	}
}

// TestAMisspeltFieldAfterManyOthersIsRefused checks that misspelt members are detected regardless of the number of
// members.
func TestAMisspeltFieldAfterManyOthersIsRefused(t *testing.T) {
	t.Parallel()
	var many strings.Builder
	for i := range 70 {
		many.WriteString(`"x` + strings.Repeat("y", 20+i) + `":1,`)
	}
	o, err := request.Parse([]byte(`{`+many.String()+`"assistant_id":"a","inptu":{}}`), 0)
	if err != nil {
		t.Fatal(err)
	}
	o.ReportIgnoredIn(http.Header{})
	readRunBody(o, "")
	if err := o.Err(); err == nil || !strings.Contains(err.Error(), "Did you mean input?") {
		t.Errorf("%v", err)
	}
}
