package toy

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"sync"
)

// Agent is a toy that gives everyone the same response. Safe for concurrent use once it serves; its fields must be set
// before.
type Agent struct {
	Says []string
	Asks string // the question asked in response to the first words of a talk; "" means none
	Ends string // the end of its responses; "" means success
	Mute bool   // it accepts words and does not respond

	mu    sync.Mutex
	seen  map[string]bool
	talks map[string][]string
	work  int
}

// Talks returns the words received in each talk, by the talk's name.
func (a *Agent) Talks() map[string][]string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return maps.Clone(a.talks)
}

// Work returns the number of outputs made. Outputs for a repeated request are not counted.
func (a *Agent) Work() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.work
}

func (a *Agent) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path == "/toy" && r.Method == http.MethodGet:
		fmt.Fprintln(w, "toy")
	case r.URL.Path == "/toy/say" && r.Method == http.MethodPost:
		a.answer(w, r)
	default:
		http.NotFound(w, r)
	}
}

func (a *Agent) answer(w http.ResponseWriter, r *http.Request) {
	if a.Mute {
		<-r.Context().Done()
		return
	}
	fresh := a.fresh(r.Header.Get(onceHeader))
	said, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	if fresh {
		a.heard(r.Header.Get(talkHeader), string(said))
	}
	if a.asks(r.Header.Get(talkHeader), string(said)) {
		line(w, "? ", a.Asks)
		return
	}
	for _, text := range a.Says {
		if fresh {
			a.did()
		}
		line(w, "- ", text)
	}
	if a.Ends == "" {
		fmt.Fprintln(w, ".")
	} else {
		fmt.Fprint(w, a.Ends)
	}
}

// fresh reports whether a request is made for the first time.
func (a *Agent) fresh(once string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.seen == nil {
		a.seen = map[string]bool{}
	}
	fresh := !a.seen[once]
	a.seen[once] = once != ""
	return fresh
}

func (a *Agent) heard(talk, said string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.talks == nil {
		a.talks = map[string][]string{}
	}
	a.talks[talk] = append(a.talks[talk], said)
}

// asks reports whether the agent asks a question and these are the first words of the talk.
func (a *Agent) asks(talk, said string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.Asks != "" && a.talks[talk][0] == said
}

func (a *Agent) did() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.work++
}
