package replay_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/replay"
	"github.com/apbridge/apbridge/mapping/credential"
)

const mark = "canary"

func runTokenOf(run string) string {
	return credential.RunTokenPrefix + base64.RawURLEncoding.EncodeToString([]byte(run+mark)) + ".c2ln" + mark
}

// echo repeats the request in its body and its headers.
func echo(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Location", "/next?token="+mark+"-of-a-link")
	w.Header().Set("Set-Cookie", "session="+mark)
	fmt.Fprintf(w, `{"heard":%q,"as":%q,"cookie":"session=%s","said":%s}`, r.URL.RequestURI(), r.Header.Get("Authorization"), mark, body)
}

// TestRecordingsHoldNoCredentials checks targets, bodies and headers of both sides. A call with other credentials, such
// as a new token for each run, still finds the recorded one.
func TestRecordingsHoldNoCredentials(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(echo))
	defer srv.Close()
	var file bytes.Buffer
	r := replay.NewRecorder(&file, replay.Head{}, credential.SetOf(mark+"&1"))
	network := &http.Transport{}
	defer network.CloseIdleConnections()
	asked := func(token, key string) call {
		return call{"POST", "/threads/" + threadA + "/runs?api_key=" + key, `{"id":"` + threadA + `","store":{"url":"http://h","token":"` + token + `"},"configurable":{"openai_api_key":"` + key + `","args":"{\"password\":\"\\n` + mark + `\"}","api\u005fkey":["` + mark + `"],"db":"x://u:p@` + mark + `@h"},"text":"hi"}`}
	}
	recorded := asked(runTokenOf("one"), mark+"%261")
	send(t, r.Through(network), srv.URL, recorded)
	if text := file.String(); strings.Contains(text, mark) || strings.Contains(text, credential.RunTokenPrefix) || strings.Count(text, credential.HiddenText) < 6 {
		t.Fatalf("recorded:\n%s", text)
	}
	name := filepath.Join(t.TempDir(), "r")
	if err := os.WriteFile(name, file.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	of, err := replay.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	if got := send(t, replay.NewPlayer(of), nowhere, asked(runTokenOf("two"), "other")); !strings.HasPrefix(got, "200 ") {
		t.Errorf("with other credentials: %s", got)
	}
	other := asked(runTokenOf("two"), "other")
	other.body = strings.Replace(other.body, `"hi"`, `"no"`, 1)
	if got := send(t, replay.NewPlayer(of), nowhere, other); !strings.Contains(got, `text is \"no\", recorded was \"hi\"`) {
		t.Errorf("another text: %s", got)
	}
}

// TestNoHalfSecretInARecording checks that a truncated body does not show part of a credential at its end.
func TestNoHalfSecretInARecording(t *testing.T) {
	t.Parallel()
	const keptBody = 16 << 20
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }))
	defer srv.Close()
	var file bytes.Buffer
	r := replay.NewRecorder(&file, replay.Head{}, credential.SetOf(mark))
	network := &http.Transport{}
	defer network.CloseIdleConnections()
	send(t, r.Through(network), srv.URL, call{"POST", "/x", strings.Repeat(" ", keptBody-len(mark)+1) + mark})
	if text := file.String(); !strings.Contains(text, `"cut":true`) || strings.Contains(text, mark[:3]) {
		t.Errorf("recorded: %s", strings.ReplaceAll(text, "  ", ""))
	}
}
