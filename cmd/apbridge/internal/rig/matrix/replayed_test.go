package matrix

import (
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/adapter/sse"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/rogpeppe/go-internal/txtar"
)

// conversation is a client's sequence of requests from a file of testdata/replayed. "capture NAME MEMBER" keeps a
// member of the response as {{NAME}}. "settled ID" waits until no run is active on a thread, for requests whose
// responses depend on that.
type conversation struct {
	file    string
	headers []string // of every request. What is sent compressed to other clients would be to this one.
	agents  func() map[string]http.Handler
}

func quietAgents() map[string]http.Handler {
	return map[string]http.Handler{
		"step":  adaptertest.NewStepAgent(adaptertest.Plain),
		"graph": &adaptertest.ThreadAgent{Plays: []adaptertest.ThreadPlay{adaptertest.ChatPlay(), rig.SecondPlay()}},
	}
}

// askingAgents returns agents that ask once in each thread and end after the answer.
func askingAgents() map[string]http.Handler {
	return map[string]http.Handler{
		"step":  rig.Curious(1),
		"graph": &adaptertest.ThreadAgent{Plays: []adaptertest.ThreadPlay{adaptertest.AskPlay(), adaptertest.ChatPlay()}},
	}
}

func pythonSDK(agent string) []string {
	return []string{"Accept", "*/*", "Accept-Encoding", "gzip, deflate", "User-Agent", agent}
}

var conversations = []conversation{
	{"python", pythonSDK("langgraph-sdk-py/0.4.3"), quietAgents},
	{"remotegraph", pythonSDK("langgraph-sdk-py/0.4.3"), askingAgents},
	{"apclient", []string{"Accept", "application/json", "Accept-Encoding", "identity", "User-Agent", "OpenAPI-Generator/1.0.0/python"}, quietAgents},
	{"agbenchmark", []string{"Accept", "application/json", "Accept-Encoding", "gzip, deflate", "User-Agent", "OpenAPI-Generator/1.0.0/python"}, quietAgents},
	{"webapp", []string{"Accept", "*/*", "Accept-Encoding", "gzip, deflate, br", "User-Agent", "Mozilla/5.0"}, askingAgents},
}

// TestReplayed replays requests recorded from clients that npm lacks, for agents of both kinds, and compares the
// responses with golden files.
func TestReplayed(t *testing.T) {
	t.Parallel()
	for _, c := range conversations {
		requests, err := txtar.ParseFile(filepath.Join("testdata", "replayed", c.file+".txtar"))
		if err != nil {
			t.Fatal(err)
		}
		for name, peer := range c.agents() {
			t.Run(c.file+" "+name, func(t *testing.T) {
				t.Parallel()
				r := &replay{b: rig.InFront(t, peer), headers: c.headers, names: map[string]string{}, events: map[string][]int{}}
				got := &txtar.Archive{Comment: []byte("Answers to " + c.file + ".txtar; headers that clients read, then the body.\n")}
				for _, part := range requests.Files {
					got.Files = append(got.Files, txtar.File{Name: part.Name, Data: []byte(r.send(t, part))})
				}
				rig.CheckGolden(t, filepath.Join("testdata", "replayed", c.file+"-"+name+".txtar"), got)
			})
		}
	}
}

// replay is the state of a conversation.
type replay struct {
	b        *rig.Bridge
	headers  []string
	captured []string          // {{NAME}} and its value in turns, for a replacer
	names    map[string]string // what ids are called in the answers
	events   map[string][]int  // the numbers of a run's events as they were seen in streams, by where it is streamed
}

// readHeaders lists the response headers in the golden files. SDKs read them.
var readHeaders = []string{"Content-Encoding", "Content-Location", "Content-Type", "Location", "Preference-Applied", "X-Pagination-Next", "X-Pagination-Total"}

func (r *replay) send(t *testing.T, part txtar.File) string {
	t.Helper()
	head, body, _ := strings.Cut(strings.NewReplacer(r.captured...).Replace(string(part.Data)), "\n\n")
	lines := strings.Split(strings.TrimSpace(head), "\n")
	method, path, _ := strings.Cut(lines[0], " ")
	headers, captures := slices.Clone(r.headers), [][2]string{}
	for _, line := range lines[1:] {
		if take, ok := strings.CutPrefix(line, "capture "); ok {
			name, what, _ := strings.Cut(take, " ")
			captures = append(captures, [2]string{name, what})
		} else if id, ok := strings.CutPrefix(line, "settled "); ok {
			rig.Eventually(t, "the run ends or asks", func() bool { return r.b.Get("/threads/"+id).Text("status") != "busy" })
		} else if name, value, ok := strings.Cut(line, ": "); ok {
			headers = append(headers, name, value)
		}
	}
	got := r.b.Do(method, path, strings.TrimSpace(body), headers...)
	for _, c := range captures {
		value := got.Header.Get(c[1])
		if value == "" {
			value = got.Text(c[1])
		}
		r.captured = append(r.captured, "{{"+c[0]+"}}", value)
	}
	return r.shown(got)
}

var eventID = regexp.MustCompile(`(?m)^id: (\d+)`)

// shown returns a response for the golden file. Ids and times are replaced as in the golden files of streams, an id by
// the same name in the whole conversation. Heartbeats are removed. Event numbers are replaced by their position in the
// run's events, because the number of earlier events depends on whether the agent's ids arrive together. The original
// numbers must increase in a stream.
func (r *replay) shown(a rig.Answer) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%d %s\n", a.Status, http.StatusText(a.Status))
	for _, name := range readHeaders {
		if value := a.Header.Get(name); value != "" {
			text.WriteString(name + ": " + value + "\n")
		}
	}
	run, last := a.Header.Get("Location"), 0
	body := eventID.ReplaceAllStringFunc(strings.ReplaceAll(string(a.Body), string(sse.AppendHeartbeat(nil)), ""), func(id string) string {
		n, _ := strconv.Atoi(strings.TrimPrefix(id, "id: "))
		if n < last {
			return fmt.Sprintf("id: %d, after %d", n, last)
		}
		last = n
		if !slices.Contains(r.events[run], n) {
			r.events[run] = append(r.events[run], n)
		}
		return fmt.Sprintf("id: event %d", slices.Index(r.events[run], n)+1)
	})
	text.WriteString("\n" + strings.TrimSpace(body) + "\n")
	return plain(text.String(), r.names)
}
