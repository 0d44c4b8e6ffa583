package face

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/apbridge/apbridge/mapping"
)

// TestUploadThatBreaksOff cuts real connections: before the closing boundary, at it and after it. An incomplete upload
// is not an artifact (RFC 9112, section 8).
func TestUploadThatBreaksOff(t *testing.T) {
	t.Parallel()
	known := fieldPart("relative_path", "src") + filePart(`filename="a.txt"`, strings.Repeat("x", 9<<10)) + closing
	after := filePart(`filename="a.txt"`, strings.Repeat("x", 9<<10)) + fieldPart("relative_path", "src") + closing
	large := filePart(`filename="a.txt"`, strings.Repeat("x", inMemory+1)) + closing
	for what, form := range map[string]string{"path first": known, "path last": after, "through a temporary file": large} {
		for _, c := range []struct {
			what    string
			missing int // bytes at the form's end
			more    int // bytes that Content-Length announces beyond the whole form
			chunked bool
		}{
			{"in the file", 200, 0, false},
			{"before the closing boundary", len(closing) + 2, 0, false},
			{"in the closing boundary", 6, 0, false},
			{"behind the closing boundary's name", 4, 0, false},
			{"before the last line's end", 2, 0, false},
			{"Content-Length a byte too large", 0, 1, false},
			{"Content-Length far too large", 0, 5000, false},
			{"chunks, in the file", 200, 0, true},
			{"chunks, in the closing boundary", 6, 0, true},
			{"chunks without the last one", 0, 0, true},
		} {
			t.Run(what+"/"+c.what, func(t *testing.T) {
				t.Parallel()
				f := newFake()
				f.maxFile = 4 << 20
				s := serve(t, f)
				task := s.newTask("hi")
				before := s.written()
				sent := form[:len(form)-c.missing]
				framing, body := fmt.Sprintf("Content-Length: %d", len(form)+c.more), sent
				if c.chunked {
					framing, body = "Transfer-Encoding: chunked", fmt.Sprintf("%x\r\n%s\r\n", len(sent), sent)
				}
				a := s.sendHalf(task+"/artifacts", framing, body)
				if a.status != http.StatusUnprocessableEntity {
					t.Errorf("got %d %s, want 422", a.status, a.body)
				}
				checkRefused(t, s, a, before)
			})
		}
	}
}

// Bytes after the closing boundary are an epilogue (RFC 2046, section 5.1.1). It is read and ignored.
func TestUploadWithAnEpilogue(t *testing.T) {
	t.Parallel()
	s := serve(t, newFake())
	for _, epilogue := range []string{"\r\n", "and so on", strings.Repeat("z", 64<<10)} {
		task := s.newTask("hi")
		id := s.do("POST", task+"/artifacts", formType, filePart(`filename="a.txt"`, "x")+closing+epilogue).field(t, "artifact_id")
		if got := s.do("GET", task+"/artifacts/"+id, "", ""); got.body != "x" {
			t.Errorf("got %q back", got.body)
		}
	}
}

// sendHalf posts a form on a new connection, whose writing side it closes after body.
func (s *served) sendHalf(path, framing, body string) gotten {
	s.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		s.t.Fatal(err)
	}
	defer conn.Close()
	head := "POST " + path + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: " + formType + "\r\n" + framing + "\r\n\r\n"
	if _, err := io.WriteString(conn, head+body); err != nil {
		s.t.Fatal(err)
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		s.t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return gotten{res.StatusCode, res.Header, string(b)}
}

// TestUploadThatIsTooSlow checks that an error of the server around the face reaches the client, with the path known
// before and after the file.
func TestUploadThatIsTooSlow(t *testing.T) {
	t.Parallel()
	for what, head := range map[string]string{"path first": fieldPart("relative_path", "src"), "path last": ""} {
		s := serve(t, newFake())
		task := s.newTask("hi")
		before := s.written()
		slow := mapping.Errorf(mapping.TooSlow, "body_too_slow", "The upload was too slow.")
		body := io.MultiReader(strings.NewReader(head+strings.TrimSuffix(filePart(`filename="a.txt"`, "half"), "\r\n")), iotest.ErrReader(slow))
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodPost, task+"/artifacts", body)
		r.Header.Set("Content-Type", formType)
		faceOver(t, s.fake).ServeHTTP(w, r)
		if w.Code != http.StatusRequestTimeout || !strings.Contains(w.Body.String(), slow.Message) {
			t.Errorf("%s: got %d %s", what, w.Code, w.Body)
		}
		checkRefused(t, s, gotten{status: w.Code, header: w.Header(), body: w.Body.String()}, before)
	}
}
