package face

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/apbridge/apbridge/adapter/body"
)

// These are bodies that a client may send in the POST for a task or step.
func TestBodies(t *testing.T) {
	t.Parallel()
	s := serve(t, newFake())
	task := s.newTask("hi")
	deep := strings.Repeat("[", 49) + strings.Repeat("]", 49)
	for _, c := range []struct {
		name, contentType, body string
		status                  int
	}{
		{"nothing at all", "", "", 200},
		{"type but no body", plain, "", 200},
		{"other type but no body", "text/plain", "", 200},
		{"empty object", plain, "{}", 200},
		{"space only", plain, " \n", 200},
		{"charset", "application/json; charset=UTF-8", `{"input":"y"}`, 200},
		{"no type", "", `{"input":"y"}`, 200},
		{"null input", plain, `{"input":null}`, 200},
		{"null additional_input", plain, `{"additional_input":null}`, 200},
		{"unknown fields of any type", plain, `{"eval_id":5,"x":{"y":[null]}}`, 200},
		{"a misspelt field", plain, `{"inptu":"hi"}`, 422},
		{"a field in camel case", plain, `{"additionalInput":{}}`, 422},
		{"as deep as allowed", plain, `{"x":` + deep + `}`, 200},

		{"cut", plain, `{"input":"y"`, 422},
		{"cut in a string", plain, `{"input":"y`, 422},
		{"no JSON", plain, `input=y`, 422},
		{"an array", plain, `[]`, 422},
		{"a string", plain, `"y"`, 422},
		{"null", plain, `null`, 422},
		{"two values", plain, `{} {}`, 422},
		{"trailing comma", plain, `{"input":"y",}`, 422},
		{"number input", plain, `{"input":5}`, 422},
		{"boolean input", plain, `{"input":true}`, 422},
		{"object input", plain, `{"input":{}}`, 422},
		{"string additional_input", plain, `{"additional_input":"x"}`, 422},
		{"array additional_input", plain, `{"additional_input":[]}`, 422},
		{"number additional_input", plain, `{"additional_input":1e999999}`, 422},
		{"duplicate names", plain, `{"input":"a","input":"b"}`, 422},
		{"duplicate names below", plain, `{"additional_input":{"a":1,"a":2}}`, 422},
		{"duplicate names by escape", plain, `{"input":"a","inpu\u0074":"b"}`, 422},
		{"invalid UTF-8", plain, "{\"input\":\"\xff\"}", 422},
		{"lone surrogate", plain, `{"input":"\ud800"}`, 422},
		{"too deep", plain, `{"x":[` + deep + `]}`, 422},
		{"far too deep", plain, `{"x":` + strings.Repeat("[", 60<<10), 422},
		{"form", "application/x-www-form-urlencoded", "input=y", 415},
		{"text", "text/plain", `{"input":"y"}`, 415},
		{"latin-1", "application/json; charset=latin1", `{"input":"y"}`, 415},
		{"broken type", "application/json;;=", `{"input":"y"}`, 415},
		{"multipart", "multipart/form-data; boundary=x", "--x--", 415},
		{"too large", plain, `{"input":"` + strings.Repeat("x", 64<<10) + `"}`, 413},
	} {
		for _, path := range []string{v1Path + "/tasks", task + "/steps"} {
			t.Run(c.name+" "+path, func(t *testing.T) {
				before := s.written()
				a := s.do("POST", path, c.contentType, c.body)
				if a.status != c.status {
					t.Fatalf("got %d %s, want %d", a.status, a.body, c.status)
				}
				if c.status != 200 {
					checkRefused(t, s, a, before)
				}
			})
		}
	}
}

// checkRefused checks that a refusal is JSON with a message and a code, and that nothing was written.
func checkRefused(t *testing.T, s *served, a gotten, before int) {
	t.Helper()
	var body struct{ Message, Code string }
	if err := json.Unmarshal([]byte(a.body), &body); err != nil || body.Message == "" || body.Code == "" {
		t.Errorf("got %q, want a message and a code", a.body)
	}
	if a.header.Get("Content-Type") != jsonAnswer {
		t.Errorf("the content type is %q", a.header.Get("Content-Type"))
	}
	if s.written() != before {
		t.Error("something was written")
	}
}

func TestBodyOfUnknownLength(t *testing.T) {
	t.Parallel()
	s := serve(t, newFake())
	for body, want := range map[string]int{
		"": 200, `{"input":"y"}`: 200, `{"input":`: 422, `{"input":"` + strings.Repeat("x", 70<<10): 413,
	} {
		req, err := http.NewRequestWithContext(t.Context(), "POST", s.url+v1Path+"/tasks", struct{ *strings.Reader }{strings.NewReader(body)})
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", plain)
		if a := s.send(req); a.status != want {
			t.Errorf("%.20q: got %d, want %d", body, a.status, want)
		}
	}
}

func TestCompressedBodyIsRefused(t *testing.T) {
	t.Parallel()
	s := serve(t, newFake())
	req, err := http.NewRequestWithContext(t.Context(), "POST", s.url+v1Path+"/tasks", strings.NewReader(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", plain)
	req.Header.Set("Content-Encoding", "gzip")
	if a := s.send(req); a.status != 415 || s.written() != 0 || !strings.Contains(a.body, `"unsupported_content_encoding"`) {
		t.Errorf("got %d %s", a.status, a.body)
	}
}

// additional_input and text are passed on unchanged.
func TestInputIsCarriedVerbatim(t *testing.T) {
	t.Parallel()
	s := serve(t, newFake())
	const additional = `{ "z":1, "big": 12345678901234567890.10, "a":"\u00fc<\/b>" }`
	a := s.do("POST", v1Path+"/tasks", plain, `{"additional_input": `+additional+` ,"input":"a\u0000\n\"<é"}`)
	if !strings.Contains(a.body, `"additional_input":`+additional+`,`) || !strings.Contains(a.body, `"input":"a\u0000\n\"<é"`) {
		t.Errorf("got %s", a.body)
	}
}

func TestPages(t *testing.T) {
	t.Parallel()
	s := serve(t, newFake())
	for range 11 {
		s.newTask("hi")
	}
	for _, c := range []struct {
		query  string
		status int
		items  int
		pages  [4]int // total_items, total_pages, current_page, page_size
	}{
		{"", 200, 10, [4]int{11, 2, 1, 10}},
		{"?current_page=2", 200, 1, [4]int{11, 2, 2, 10}},
		{"?page_size=1&current_page=1", 200, 1, [4]int{11, 11, 1, 1}},
		{"?page_size=1000", 200, 11, [4]int{11, 1, 1, 1000}},
		{"?current_page=1&page_size=10000", 200, 11, [4]int{11, 1, 1, 10000}}, // AutoGPT's web app
		{"?page_size=1000000000", 200, 11, [4]int{11, 1, 1, 10000}},           // the most of a page
		{"?page_size=11", 200, 11, [4]int{11, 1, 1, 11}},
		{"?current_page=2147483647", 200, 0, [4]int{11, 2, 2147483647, 10}},
		{"?current_page=02", 200, 1, [4]int{11, 2, 2, 10}},
		{"?page=0&pageSize=x&foo", 200, 10, [4]int{11, 2, 1, 10}}, // unknown parameters
		{"?current_page=0", 422, 0, [4]int{}},
		{"?current_page=-1", 422, 0, [4]int{}},
		{"?current_page=%2B1", 422, 0, [4]int{}},
		{"?current_page=1.0", 422, 0, [4]int{}},
		{"?current_page=x", 422, 0, [4]int{}},
		{"?current_page=", 422, 0, [4]int{}},
		{"?current_page=2147483648", 422, 0, [4]int{}},
		{"?current_page=99999999999999999999", 422, 0, [4]int{}},
		{"?page_size=0", 422, 0, [4]int{}},
		{"?page_size=99999999999999999999", 422, 0, [4]int{}},
		{"?page_size=%zz", 422, 0, [4]int{}},
		{"?current_page=1&current_page=2", 422, 0, [4]int{}},
	} {
		a := s.do("GET", v1Path+"/tasks"+c.query, "", "")
		if a.status != c.status {
			t.Errorf("%s: got %d %s", c.query, a.status, a.body)
			continue
		}
		if c.status != 200 {
			checkRefused(t, s, a, 11)
			continue
		}
		var body struct {
			Tasks      []struct{ Artifacts []any }
			Pagination struct {
				Items int `json:"total_items"`
				Pages int `json:"total_pages"`
				Page  int `json:"current_page"`
				Size  int `json:"page_size"`
			}
		}
		if err := json.Unmarshal([]byte(a.body), &body); err != nil {
			t.Fatal(err)
		}
		p := body.Pagination
		if diff := cmp.Diff(c.pages, [4]int{p.Items, p.Pages, p.Page, p.Size}); diff != "" || len(body.Tasks) != c.items {
			t.Errorf("%s: %d items, pagination (-want +got):\n%s", c.query, len(body.Tasks), diff)
		}
	}
}

func TestPagesAreCheckedOnEveryList(t *testing.T) {
	t.Parallel()
	s := serve(t, newFake())
	task := s.newTask("hi")
	for _, list := range []string{"/steps", "/artifacts"} {
		if a := s.do("GET", task+list+"?page_size=0", "", ""); a.status != 422 {
			t.Errorf("%s: got %d", list, a.status)
		}
	}
	if a := s.do("GET", task+"/steps?stream=maybe", "", ""); a.status != 422 {
		t.Errorf("stream=maybe: got %d", a.status)
	}
}

// Any string is a legal id.
func TestUnknownIDs(t *testing.T) {
	t.Parallel()
	s := serve(t, newFake())
	task := s.newTask("hi")
	before := s.written()
	const uuid = "11111111-1111-4111-8111-111111111111"
	for _, id := range []string{uuid, "x", "5", "caf%C3%A9", "%00", "%ff", "a%20b", strings.Repeat("x", 2000)} {
		unknown := v1Path + "/tasks/" + id
		for _, c := range []struct{ method, path string }{
			{"GET", unknown}, {"GET", unknown + "/steps"}, {"POST", unknown + "/steps"}, {"GET", unknown + "/steps/" + uuid},
			{"GET", unknown + "/artifacts"}, {"GET", unknown + "/artifacts/" + uuid}, {"POST", unknown + "/cancel"},
			{"GET", unknown + "/steps?stream=true"},
			{"GET", task + "/steps/" + id}, {"GET", task + "/artifacts/" + id},
		} {
			a := s.do(c.method, c.path, "", "")
			if a.status != 404 {
				t.Errorf("%s %.60s: got %d %s", c.method, c.path, a.status, a.body)
			}
			checkOnlyMessage(t, c.path, a)
		}
	}
	if s.written() != before {
		t.Error("something was written")
	}
}

func TestIdempotencyKeyIsPassedOn(t *testing.T) {
	t.Parallel()
	s := serve(t, newFake())
	for _, path := range []string{v1Path + "/tasks", v1Path + "/tasks/00000000-0000-4000-8000-000000000001/steps"} {
		req, err := http.NewRequestWithContext(t.Context(), "POST", s.url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Idempotency-Key", "key of "+path)
		s.send(req).field(t, "task_id")
		if last := s.keys[len(s.keys)-1]; last != "key of "+path {
			t.Errorf("%s: got key %q", path, last)
		}
	}
}

func FuzzPage(f *testing.F) {
	for _, q := range []string{"", "page_size=1&current_page=1", "page_size=-1", "current_page=%00", "a;b", "page_size=1&page_size=x", "%"} {
		f.Add(q)
	}
	f.Fuzz(func(t *testing.T, query string) {
		r := &http.Request{URL: urlWith(query)}
		p, err := pageOf(r)
		if err == nil && (p.Number < 1 || p.Number > maxPage || p.Size < 1 || p.Size > maxPageSize) {
			t.Errorf("%q gave %+v", query, p)
		}
		if err != nil && v1.status(classify(err).Class) != http.StatusUnprocessableEntity {
			t.Errorf("%q gave %v", query, err)
		}
	})
}

func FuzzRequest(f *testing.F) {
	for _, b := range []string{`{}`, `{"input":"y","additional_input":{"a":[1,{"b":null}]}}`, `{"a":1,"a":2}`, `{"input":"\ud800"}`, `[[[`, `{"a`, "{\"\xff\":1}"} {
		f.Add([]byte(b))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var req request
		if err := body.Object(raw, 20, req.memberReader(http.Header{})); err != nil {
			if v1.status(classify(err).Class) != http.StatusUnprocessableEntity {
				t.Errorf("%q gave %v", raw, err)
			}
			return
		}
		if !json.Valid(raw) {
			t.Errorf("%q was taken", raw)
		}
		if req.AdditionalInput != nil && !json.Valid(req.AdditionalInput) {
			t.Errorf("%q gave additional_input %q", raw, req.AdditionalInput)
		}
	})
}

// A key that is not text is refused in the dialect's form, and nothing is created.
func TestIdempotencyKeyIsText(t *testing.T) {
	t.Parallel()
	s := serve(t, newFake())
	task, before := s.newTask("hi"), s.written()
	for _, path := range []string{v1Path + "/tasks", task + "/steps"} {
		req, err := http.NewRequest("POST", s.url+path, strings.NewReader(`{}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header = http.Header{"Content-Type": {plain}, "Idempotency-Key": {"\xff"}}
		want := `"detail":[{"loc":["header","Idempotency-Key"],"msg":"must be UTF-8 without U+0000"}]`
		if a := s.send(req); a.status != 422 || !strings.Contains(a.body, want) {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
	if after := s.written(); after != before {
		t.Errorf("%d objects were written", after-before)
	}
}
