package replay_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/adapter/replay"
)

func TestMain(m *testing.M) { adaptertest.Main(m) }

const (
	threadA = "11111111-1111-4111-8111-111111111111"
	threadB = "22222222-2222-4222-8222-222222222222"
	made    = "99999999-9999-4999-8999-999999999999"
)

// agent responds to every request with a thing that has a new id.
func agent(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Set-Cookie", "session=secret")
	w.Header().Set("Content-Location", r.URL.Path+"/"+made)
	if r.URL.Path == "/bytes" {
		_, _ = w.Write([]byte{0xff, 0, 0xfe})
		return
	}
	if r.URL.Path == "/broken" {
		w.Header().Set("Content-Length", "100")
	}
	fmt.Fprintf(w, `{"id":%q,"saw":%q}`, made, body)
}

type call struct{ method, path, body string }

// record makes calls to the agent and returns the recording and the responses.
func record(t *testing.T, calls ...call) (*replay.Recording, []string) {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(agent))
	defer srv.Close()
	var file bytes.Buffer
	r := replay.NewRecorder(&file, replay.Head{URL: "http://user:secret@agent.example/x", Dialect: "taskstep"}, nil)
	network := &http.Transport{}
	defer network.CloseIdleConnections()
	var got []string
	for _, c := range calls {
		got = append(got, send(t, r.Through(network), srv.URL, c))
	}
	if err := r.Err(); err != nil || r.Count() != len(calls) {
		t.Fatalf("recorded %d calls, %v", r.Count(), err)
	}
	if strings.Contains(file.String(), "secret") {
		t.Errorf("a secret was recorded:\n%s", &file)
	}
	name := filepath.Join(t.TempDir(), "recording.ndjson")
	if err := os.WriteFile(name, file.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	of, err := replay.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	return of, got
}

// send makes a call and returns the response in one line.
func send(t *testing.T, over http.RoundTripper, base string, c call) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), c.method, base+c.path, strings.NewReader(c.body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer secret")
	req.Header.Set("Content-Type", "application/json")
	res, err := over.RoundTrip(req)
	if err != nil {
		return "error: " + err.Error()
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	line := fmt.Sprintf("%d %s %s %s", res.StatusCode, res.Header.Get("Content-Type"), res.Header.Get("Content-Location"), body)
	if err != nil {
		line += " error: " + err.Error()
	}
	return line
}

const nowhere = "http://nobody.invalid"

// TestReplay checks that the same calls get the recorded responses, byte for byte.
func TestReplay(t *testing.T) {
	t.Parallel()
	calls := []call{
		{"POST", "/threads", `{"thread_id":"` + threadA + `"}`},
		{"POST", "/threads/" + threadA + "/runs?x=1", `{"input":"a","at":"2026-01-02T03:04:05Z"}`},
		{"GET", "/bytes", ""},
		{"GET", "/broken", ""},
	}
	of, want := record(t, calls...)
	if of.URL != "http://agent.example/x" || of.Dialect != "taskstep" {
		t.Errorf("head %+v", of.Head)
	}
	p := replay.NewPlayer(of)
	for i, c := range calls {
		if got := send(t, p, nowhere, c); got != want[i] {
			t.Errorf("%v: %s\nrecorded was %s", c, got, want[i])
		}
	}
	if got := send(t, p, nowhere, calls[2]); got != want[2] {
		t.Errorf("read again: %s", got)
	}
}

// TestReplayOfAFailure checks that a call without a response has none in the replay, either.
func TestReplayOfAFailure(t *testing.T) {
	t.Parallel()
	var file bytes.Buffer
	refused := roundTrip(func(*http.Request) (*http.Response, error) { return nil, errors.New("connection refused") })
	r := replay.NewRecorder(&file, replay.Head{}, nil)
	send(t, r.Through(refused), nowhere, call{"POST", "/x", "{}"})
	name := filepath.Join(t.TempDir(), "r")
	if err := os.WriteFile(name, file.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	of, err := replay.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	if got := send(t, replay.NewPlayer(of), nowhere, call{"POST", "/x", "{}"}); got != "error: connection refused" {
		t.Errorf("got %s", got)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestAnotherConversation checks that a new conversation's ids are mapped to those of the recording in paths, bodies
// and responses, and that it gets new ids from the agent.
func TestAnotherConversation(t *testing.T) {
	t.Parallel()
	of, _ := record(t,
		call{"POST", "/threads", `{"thread_id":"` + threadA + `"}`},
		call{"POST", "/threads/" + threadA + "/" + made, `{"at":"2026-01-02T03:04:05Z","text":"thread ` + threadA + `"}`})
	p := replay.NewPlayer(of)
	first := send(t, p, nowhere, call{"POST", "/threads", `{"thread_id":"` + threadA + `"}`})
	second := send(t, p, nowhere, call{"POST", "/threads", `{"thread_id":"` + threadB + `"}`})
	if !strings.Contains(first, made) || strings.Contains(second, made) || strings.Contains(second, threadA) {
		t.Fatalf("first %s, second %s", first, second)
	}
	id := second[strings.Index(second, `"id":"`)+6:][:len(made)]
	got := send(t, p, nowhere, call{"POST", "/threads/" + threadB + "/" + id, `{"text":"thread ` + threadB + `","at":"2027-01-02T03:04:05.5Z"}`})
	if !strings.HasPrefix(got, "200 ") || !strings.Contains(got, threadB) || strings.Contains(got, threadA) {
		t.Errorf("got %s", got)
	}
}

// TestUnrecordedCalls checks that the message names the first call that differs, and the difference.
func TestUnrecordedCalls(t *testing.T) {
	t.Parallel()
	of, _ := record(t,
		call{"POST", "/threads", `{"thread_id":"` + threadA + `"}`},
		call{"POST", "/threads/" + threadA + "/runs", `{"input":{"messages":[{"content":"Washington"}]},"n":1}`})
	begun := call{"POST", "/threads", `{"thread_id":"` + threadA + `"}`}
	for _, tt := range []struct {
		name string
		call call
		want string
	}{
		{"another text", call{"POST", "/threads/" + threadA + "/runs", `{"input":{"messages":[{"content":"Berlin"}]},"n":1}`},
			`POST /threads/` + threadA + `/runs was not recorded. Call 2 of the recording is POST /threads/` + threadA + `/runs: input.messages[0].content is \"Berlin\", recorded was \"Washington\".`},
		{"a field more", call{"POST", "/threads/" + threadA + "/runs", `{"input":{"messages":[{"content":"Washington"}]},"n":1,"more":true}`},
			`more is true, and was not there when it was recorded`},
		{"a field less", call{"POST", "/threads/" + threadA + "/runs", `{"input":{"messages":[{"content":"Washington"}]}}`}, `n is missing, recorded was 1`},
		{"a number", call{"POST", "/threads/" + threadA + "/runs", `{"input":{"messages":[{"content":"Washington"}]},"n":2}`}, `n is 2, recorded was 1`},
		{"a list", call{"POST", "/threads/" + threadA + "/runs", `{"input":{"messages":[]},"n":1}`}, `input.messages is [], recorded was [{`},
		{"no JSON", call{"POST", "/threads/" + threadA + "/runs", `text`}, `its body is text, recorded was {`},
		{"another path", call{"POST", "/threads/" + threadA + "/crons", `{}`}, `its path is /threads/` + threadA + `/crons`},
		{"another method", call{"PUT", "/threads/" + threadA + "/runs", ``}, `its method is PUT`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := replay.NewPlayer(of)
			send(t, p, nowhere, begun)
			if got := send(t, p, nowhere, tt.call); !strings.HasPrefix(got, "501 application/json") || !strings.Contains(got, tt.want) {
				t.Errorf("got %s\nwant %s", got, tt.want)
			}
		})
	}
}

// TestConversationThatDiffersAfterACompleteOne checks that, after a complete replay, a new conversation is compared
// with the start of the recording, and a continued one with the unused calls.
func TestConversationThatDiffersAfterACompleteOne(t *testing.T) {
	t.Parallel()
	first, second := call{"POST", "/tasks", `{"input":"Washington"}`}, call{"POST", "/tasks/" + threadA + "/steps", `{"n":1}`}
	of, _ := record(t, first, second)
	p := replay.NewPlayer(of)
	for _, c := range []call{first, second} {
		if got := send(t, p, nowhere, c); !strings.HasPrefix(got, "200 ") {
			t.Fatal(got)
		}
	}
	if got := send(t, p, nowhere, call{"POST", "/tasks/" + threadA + "/artifacts", `{}`}); !strings.Contains(got, "it comes after the last of the recording's 2 calls") {
		t.Errorf("an additional call: %s", got)
	}
	begins := call{"POST", "/tasks", `{"input":"Berlin"}`}
	const differs = `Call 1 of the recording is POST /tasks: input is \"Berlin\", recorded was \"Washington\".`
	if got := send(t, p, nowhere, begins); !strings.Contains(got, differs) {
		t.Errorf("after a complete conversation: %s", got)
	}
	if got := send(t, p, nowhere, first); !strings.HasPrefix(got, "200 ") {
		t.Fatal(got)
	}
	if got := send(t, p, nowhere, begins); !strings.Contains(got, differs) {
		t.Errorf("next to a continued one: %s", got)
	}
	if got := send(t, p, nowhere, call{"POST", "/tasks/" + threadB + "/steps", `{"n":2}`}); !strings.Contains(got, `Call 2 of the recording`) || !strings.Contains(got, `n is 2, recorded was 1`) {
		t.Errorf("a continued one: %s", got)
	}
}

// TestForeignRecordings checks that the error names the line.
func TestForeignRecordings(t *testing.T) {
	t.Parallel()
	const head = `{"apbridge_recording":1}` + "\n"
	for text, want := range map[string]string{
		"":                                     "is not a recording",
		"GET / HTTP/1.1":                       "is not a recording",
		`{"log":{"version":"1.2"}}`:            "is not a recording",
		`{"apbridge_recording":2}`:             "format 2",
		head + `{"n":1`:                        "line 2",
		head + `{"n":1}`:                       "line 2: has no call",
		head + `{"n":"1"}`:                     "line 2",
		head + `{"n":1,"call":{"method":"G"}}`: "line 2: has no call, or no answer",
	} {
		name := filepath.Join(t.TempDir(), "r")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := replay.Open(name); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), name) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
