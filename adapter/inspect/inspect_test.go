package inspect

import (
	"embed"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/gorilla/mux"
	"go.uber.org/zap"
)

// Modules and styles stay small, load nothing from elsewhere, and make no markup from text.
func TestScriptsAreFewAndInert(t *testing.T) {
	t.Parallel()
	size := map[string]int{}
	for _, files := range []embed.FS{web, pages} {
		err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			text, err := fs.ReadFile(files, name)
			size[path.Ext(name)] += len(text)
			if path.Ext(name) != ".js" && path.Dir(name) == "web" {
				t.Errorf("%s is sent as a module", name)
			}
			if bad := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|https?://|@import|url\(`).Find(text); bad != nil {
				t.Errorf("%s has %s", name, bad)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
	if size[".js"] == 0 || size[".js"] > 80_000 || size[".css"] == 0 || size[".css"] > 24_000 {
		t.Errorf("%v", size)
	}
}

// All routes need the right to inspect, pages of stored data also read, forms that make an agent work also run.
func TestEveryRouteHasRightsAndAnEffect(t *testing.T) {
	t.Parallel()
	r := mux.NewRouter()
	Mount(r, Options{Log: zap.NewNop()})
	seen := 0
	err := r.Walk(func(at *mux.Route, _ *mux.Router, _ []*mux.Route) error {
		template, err := at.GetPathTemplate()
		methods, none := at.GetMethods()
		if err != nil || none != nil {
			return err
		}
		seen++
		op, ok := at.GetHandler().(adapter.Operation)
		if !ok || !slices.Contains(op.Needs, mapping.RightInspect) {
			t.Errorf("%v %s needs %v", methods, template, op.Needs)
		}
		does, said := Effect(methods[0], template)
		file := strings.HasPrefix(template, Root+"/web/")
		if said == file || !file && !slices.Contains(op.Needs, mapping.RightRead) {
			t.Errorf("%v %s needs %v and does %v", methods, template, op.Needs, does)
		}
		if changes := !slices.Contains(methods, http.MethodGet); changes != (does.Verb != mapping.Read && said) || changes && len(op.Needs) < 3 {
			t.Errorf("%v %s does %v and needs %v", methods, template, does, op.Needs)
		}
		return nil
	})
	if err != nil || seen != len(routes) {
		t.Errorf("%d routes of %d, %v", seen, len(routes), err)
	}
}

func TestBriefCutsBetweenRunes(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"short", "a" + strings.Repeat("ü", 300), strings.Repeat("\xff", 1000)} {
		if got := brief(text); len(got) > maxBrief+len("…") || len(text) <= maxBrief && got != text || strings.Contains(got, "\ufffd") {
			t.Errorf("%q", got)
		}
	}
}

// If words alone are an answer, no second field takes the same words.
func TestQuestionHasOneFieldForWords(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct {
		value  string
		places []string
	}{
		"words":               {`"Which?"`, []string{"words"}},
		"the bridge's own":    {`{"action_requests":[{"name":"ask_user","args":{"question":"Which?","answer":""}}],"review_configs":[{"action_name":"ask_user","allowed_decisions":["edit"]}],"config":{"allow_respond":true}}`, []string{"words"}},
		"one that is refused": {`{"action_requests":[{"name":"send","args":{}}]}`, []string{"reason-0"}},
		"either":              {`{"action_requests":[{"name":"send","args":{}}],"review_configs":[{"action_name":"send","allowed_decisions":["reject","respond"]}]}`, []string{"reason-0", "words"}},
		"two": {`{"action_requests":[{"name":"a","args":{}},{"name":"b","args":{}}],"review_configs":[{"action_name":"a","allowed_decisions":["respond"]},{"action_name":"b","allowed_decisions":["approve"]}]}`,
			[]string{"reason-0"}},
	} {
		form := formOf(mapping.Interrupt{ID: "q", Value: []byte(one.value)})
		r := httptest.NewRequestWithContext(t.Context(), "GET", "/inspect/threads/t", nil)
		r.Header.Set("Accept", "text/html")
		w := httptest.NewRecorder()
		err := new(server).show(w, r, threadHTML, "Thread", threadView{Questions: []openQuestion{{questionForm: form}}, MayAct: true})
		var places []string
		for _, m := range regexp.MustCompile(`name="(words|reason-\d)"`).FindAllStringSubmatch(w.Body.String(), -1) {
			places = append(places, m[1])
		}
		if err != nil || !slices.Equal(places, one.places) {
			t.Errorf("%s: words go to %v, %v", name, places, err)
		}
		if len(form.Decisions) == 1 && form.Words && strings.Contains(w.Body.String(), `value="respond"`) {
			t.Errorf("%s: the decision respond is offered although words are enough", name)
		}
	}
}

// A browser drops the first line break of a textarea. JSON contains nothing invisible.
func TestFormsShowDefaults(t *testing.T) {
	t.Parallel()
	form := formOf(mapping.Interrupt{ID: "q", Value: []byte(`"?"`), Schema: []byte(`{"type":"object","properties":{
		"text":{"type":"string","default":"\n</textarea>first"},"list":{"type":"array","default":["` + "\u202e" + `"]},"none":{"type":"array"},"number":{"type":"number"}}}`)})
	r := httptest.NewRequestWithContext(t.Context(), "GET", "/inspect/threads/t", nil)
	r.Header.Set("Accept", "text/html")
	w := httptest.NewRecorder()
	err := new(server).show(w, r, threadHTML, "Thread", threadView{Questions: []openQuestion{{questionForm: form}}, MayAct: true})
	var fields []string
	for _, m := range regexp.MustCompile(`(?s)<textarea name="field-\d"[^>]*>(.*?)</textarea>|<input name="field-\d"[^>]*value="([^"]*)"`).FindAllStringSubmatch(w.Body.String(), -1) {
		fields = append(fields, m[1]+m[2])
	}
	if want := []string{"\n\n&lt;/textarea&gt;first", `[&#34;\u202e&#34;]`, "", ""}; err != nil || !slices.Equal(fields, want) {
		t.Errorf("%q, %v", fields, err)
	}
}

// A page shows the beginning of any bytes, in lines of bounded length, with nothing invisible.
func TestExcerptsAreShortAndInert(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct {
		body string
		want string // the text, or its beginning if it is cut
		cut  bool
	}{
		"JSON in lines":    {`{"a":[1]}`, "{\n  \"a\": [\n    1\n  ]\n}", false},
		"text":             {"one\n\ttwo", "one\n\ttwo", false},
		"marks":            {"a\u202eb\x1b[31mc\u200b", `a\u{202e}b\u{1b}[31mc\u{200b}`, false},
		"a line of 1 MB":   {strings.Repeat("ü", 1<<19), strings.Repeat("ü", excerptLine/2) + "…", true},
		"many lines":       {strings.Repeat("line\n", 1<<16), "line\nline\n", true},
		"half a rune":      {"grü"[:3], "gr", false},
		"bytes":            {"\xff\xfe\x00", "00000000  ff fe 00", false},
		"many bytes":       {strings.Repeat("\xff", 1<<20), "00000000  ff ff", true},
		"a JSON of 1 MB":   {`{"a":"` + strings.Repeat("x", 1<<20) + `"}`, `{"a":"xxx`, true},
		"nothing":          {"", "", false},
		"markup as it was": {"<script>x</script>", "<script>x</script>", false},
	} {
		got := excerptOf([]byte(one.body))
		if got.Cut != one.cut || !strings.HasPrefix(got.Text, one.want) || !one.cut && len(one.want) > 0 && one.want[0] != '0' && got.Text != one.want || len(got.Text) > 3*excerptBytes {
			t.Errorf("%s: cut %v, %d bytes: %.100q", name, got.Cut, len(got.Text), got.Text)
		}
	}
}

// An early failure is answered with an error. A later one aborts the response, so that it does not look complete.
func TestExportIsCompleteOrAborted(t *testing.T) {
	t.Parallel()
	broken := mapping.Errorf(mapping.Conflict, mapping.CodeCursorExpired, "pruned")
	export := func(size int, err error) (w *httptest.ResponseRecorder, aborted any, got error) {
		w = httptest.NewRecorder()
		b := &heldResponse{w: w, setHeader: func(h http.Header) { h.Set("Content-Disposition", "attachment") }}
		for range size / 1000 {
			_, _ = b.Write(make([]byte, 1000))
		}
		defer func() { aborted = recover() }()
		return w, nil, b.end(err)
	}
	if w, aborted, err := export(5000, nil); err != nil || aborted != nil || w.Body.Len() != 5000 || w.Header().Get("Content-Disposition") == "" {
		t.Errorf("whole: %d bytes, %v, %v", w.Body.Len(), err, aborted)
	}
	if w, aborted, err := export(5000, broken); err == nil || aborted != nil || w.Body.Len() != 0 || w.Header().Get("Content-Disposition") != "" {
		t.Errorf("failed at once: %d bytes, %v, %v", w.Body.Len(), err, aborted)
	}
	if w, aborted, _ := export(200_000, broken); aborted != http.ErrAbortHandler || w.Body.Len() != 200_000 {
		t.Errorf("failed later: %d bytes, %v", w.Body.Len(), aborted)
	}
}

// As on the page of the run (timingOf).
func TestDurationBeginsWithTheCreation(t *testing.T) {
	t.Parallel()
	created := time.Unix(1_800_000_000, 0)
	for want, run := range map[string]mapping.Run{
		"3.0 s": {CreatedAt: created, StartedAt: created.Add(2 * time.Second), EndedAt: created.Add(3 * time.Second), Status: mapping.RunSuccess},
		"5.0 s": {CreatedAt: created, Status: mapping.RunPending},
	} {
		if got := took(run, created.Add(5*time.Second)); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// The modules write the same: see .browser/inspect-run.test.mjs.
func TestSpan(t *testing.T) {
	t.Parallel()
	for s, want := range map[float64]string{0: "0 ms", 0.0004: "under 1 ms", 0.25: "250 ms", 0.9996: "1.0 s", 59.5: "59.5 s", 59.96: "1 min 0 s", 119.7: "2 min 0 s", 3599.6: "1 h 0 min", 3725: "1 h 2 min"} {
		if got := spanOf(s); got != want {
			t.Errorf("%v: %s, want %s", s, got, want)
		}
	}
}
