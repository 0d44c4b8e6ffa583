package face

import (
	"strconv"
	"strings"
	"testing"
)

func TestExtract(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.addThread(uuid(500), `{"messages":[{"id":"h","type":"human","content":"hi"},{"id":"a","type":"ai","content":"yo"}],"a":[[1,2],{"b":"\u00e4"}]}`)
	body := `{"select":["thread_id"],"extract":{"last":"values.messages[-1].content","first":"values.messages[0]","deep":"values.a[0][-2]","text":"values.a[1].b","none":"values.x.y","far":"values.a[9]","way":"values.a[-3]","wrong":"values.a.b","state":"status"}}`
	status, got := roundTrip(t, "POST", f.serve(t).URL+"/threads/search", body)
	want := `[{"thread_id":"` + uuid(500) + `","extracted":{"last":"yo","first":{"id":"h","type":"human","content":"hi"},"deep":1,"text":"\u00e4","none":null,"far":null,"way":null,"wrong":null,"state":"idle"}}]`
	if status != 200 || string(got) != want {
		t.Errorf("%d %s\nwant %s", status, got, want)
	}
	many := `{"extract":{` + strings.TrimSuffix(strings.Repeat(`"a":"values",`, 1), ",")
	for i := range 10 {
		many += `,"b` + strconv.Itoa(i) + `":"values"`
	}
	if status, got := roundTrip(t, "POST", f.serve(t).URL+"/threads/search", many+`}}`); status != 422 || !strings.Contains(string(got), "at most 10") {
		t.Errorf("%d %s", status, got)
	}
}
