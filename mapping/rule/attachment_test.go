package rule

import (
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/mapping"
	"github.com/google/go-cmp/cmp"
)

// read is an attachment in comparable form: name, type, link or bytes.
type read struct{ Name, Type, Link, Bytes string }

func readAttachments(t *testing.T, message string) (list []read) {
	t.Helper()
	for _, a := range Attachments(json.RawMessage(message)) {
		r := read{Name: a.Name, Type: a.MIMEType, Link: a.Link}
		if a.Held() {
			b, err := io.ReadAll(a.Open())
			if r.Bytes = string(b); err != nil {
				r.Bytes = "! " + err.Error()
			}
		}
		list = append(list, r)
	}
	return list
}

func TestAttachments(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		part string
		want read
	}{
		"LangChain, base64 source":     {`{"type":"image","source_type":"base64","data":"aGk=","mime_type":"image/png","metadata":{"filename":"a.png"}}`, read{"a.png", "image/png", "", "hi"}},
		"Agent Chat UI":                {`{"type":"file","mimeType":"application/pdf","data":"aGk=","metadata":{"filename":"my paper.pdf"}}`, read{"my paper.pdf", "application/pdf", "", "hi"}},
		"metadata.name":                {`{"type":"image","mimeType":"image/jpeg","data":"aGk","metadata":{"name":"b.jpg"}}`, read{"b.jpg", "image/jpeg", "", "hi"}},
		"LangChain 1 in Python":        {`{"type":"file","base64":"aGk=","mime_type":"text/csv"}`, read{"m1.csv", "text/csv", "", "hi"}},
		"LangChain, an empty file":     {`{"type":"file","source_type":"base64","data":"","mime_type":"text/plain","filename":"e.txt"}`, read{"e.txt", "text/plain", "", ""}},
		"LangChain, a text":            {`{"type":"file","source_type":"text","text":"h\u00e9","mime_type":"text/plain"}`, read{"m1.txt", "text/plain", "", "hé"}},
		"LangChain, text-plain":        {`{"type":"text-plain","text":"hi","mimeType":"text/markdown","title":"notes.md"}`, read{"notes.md", "text/markdown", "", "hi"}},
		"LangChain, a URL":             {`{"type":"image","source_type":"url","url":"https://x.example/a.png"}`, read{"m1.bin", "", "https://x.example/a.png", ""}},
		"LangChain, an id":             {`{"type":"file","fileId":"file-1"}`, read{"m1.bin", "", "file-1", ""}},
		"OpenAI image, data URL":       {`{"type":"image_url","image_url":{"url":"data:image/webp;base64,aGk="}}`, read{"m1.webp", "image/webp", "", "hi"}},
		"OpenAI image, text":           {`{"type":"image_url","image_url":"data:image/gif;base64,aGk="}`, read{"m1.gif", "image/gif", "", "hi"}},
		"OpenAI image, URL":            {`{"type":"image_url","image_url":{"url":"https://x.example/a.png","detail":"low"}}`, read{"m1.bin", "", "https://x.example/a.png", ""}},
		"OpenAI file":                  {`{"type":"file","file":{"file_data":"data:application/pdf;base64,aGk=","filename":"p.pdf"}}`, read{"p.pdf", "application/pdf", "", "hi"}},
		"OpenAI file id":               {`{"type":"file","file":{"file_id":"file-2"}}`, read{"m1.bin", "", "file-2", ""}},
		"OpenAI audio":                 {`{"type":"input_audio","input_audio":{"data":"aGk=","format":"wav"}}`, read{"m1.wav", "audio/wav", "", "hi"}},
		"OpenAI responses":             {`{"type":"input_file","filename":"r.txt","file_data":"data:text/plain;base64,aGk="}`, read{"r.txt", "text/plain", "", "hi"}},
		"Anthropic":                    {`{"type":"image","source":{"type":"base64","media_type":"image/jpeg","data":"aGk="}}`, read{"m1.jpg", "image/jpeg", "", "hi"}},
		"Anthropic, a text":            {`{"type":"document","source":{"type":"text","media_type":"text/plain","data":"hi"},"title":"t.txt"}`, read{"t.txt", "text/plain", "", "hi"}},
		"Anthropic, URL":               {`{"type":"document","source":{"type":"url","url":"https://x.example/p.pdf"}}`, read{"m1.bin", "", "https://x.example/p.pdf", ""}},
		"Google":                       {`{"type":"media","mimeType":"video/mp4","data":"aGk="}`, read{"m1.mp4", "video/mp4", "", "hi"}},
		"AG-UI":                        {`{"type":"binary","mimeType":"image/png","data":"aGk=","filename":"c.png"}`, read{"c.png", "image/png", "", "hi"}},
		"data URL with parameters":     {`{"type":"image_url","image_url":{"url":"data:text/plain;charset=utf-8;base64,aGk="}}`, read{"m1.txt", "text/plain;charset=utf-8", "", "hi"}},
		"data URL without base64":      {`{"type":"image_url","image_url":{"url":"data:image/svg+xml,%3Csvg/%3E"}}`, read{"m1.svg", "image/svg+xml", "", "<svg/>"}},
		"data URL in capitals":         {`{"type":"image_url","image_url":{"url":"DATA:image/png;BASE64,aGk="}}`, read{"m1.png", "image/png", "", "hi"}},
		"base64 of the other alphabet": {`{"type":"image","data":"-_8","mimeType":"image/png"}`, read{"m1.png", "image/png", "", "\xfb\xff"}},
		"base64 with line breaks":      {`{"type":"image","data":"aG\r\nk=\n","mimeType":"image/png"}`, read{"m1.png", "image/png", "", "hi"}},
		"escaped slashes":              {`{"type":"image_url","image_url":{"url":"data:image\/png;base64,\/\/8="}}`, read{"m1.png", "image/png", "", "\xff\xff"}},
		"no base64":                    {`{"type":"image","data":"a b!","mimeType":"image/png"}`, read{"m1.png", "image/png", "", "! its data is not base64"}},
		"base64 cut short":             {`{"type":"image","data":"aGkaG","mimeType":"image/png"}`, read{"m1.png", "image/png", "", "! its data is not base64"}},
		"a folder":                     {`{"type":"file","data":"aGk=","filename":"in/b.txt"}`, read{"b.txt", "", "", "hi"}},
		"traversal":                    {`{"type":"file","data":"aGk=","filename":"../../etc/passwd"}`, read{"passwd", "", "", "hi"}},
		"traversal alone":              {`{"type":"file","data":"aGk=","filename":"..","mimeType":"image/png"}`, read{"m1.png", "image/png", "", "hi"}},
		"Windows":                      {`{"type":"file","data":"aGk=","filename":"C:\\dir\\d.txt"}`, read{"d.txt", "", "", "hi"}},
		"a device":                     {`{"type":"file","data":"aGk=","filename":"NUL.txt"}`, read{"m1.bin", "", "", "hi"}},
		"control characters":           {`{"type":"file","data":"aGk=","filename":"a\u0000b.txt"}`, read{"m1.bin", "", "", "hi"}},
		"an option":                    {`{"type":"file","data":"aGk=","filename":"-rf"}`, read{"m1.bin", "", "", "hi"}},
		"a name that is too long":      {`{"type":"file","data":"aGk=","filename":"` + strings.Repeat("x", 300) + `"}`, read{"m1.bin", "", "", "hi"}},
		"a type that is none":          {`{"type":"file","data":"aGk=","mimeType":"evil\r\nX: y/z"}`, read{"m1.bin", "", "", "hi"}},
	} {
		got := readAttachments(t, `{"type":"human","id":"m1","content":["see ",{"type":"text","text":"this"},`+c.part+`]}`)
		if diff := cmp.Diff([]read{c.want}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Parts that are not files.
func TestNoAttachments(t *testing.T) {
	t.Parallel()
	for _, content := range []string{
		`"data:image/png;base64,aGk="`, `null`, `[]`, `[{"type":"text","text":"x","data":"aGk="}]`, `[{"type":"tool_use","id":"1","input":{"data":"aGk="}}]`,
		`[{"type":"image"}]`, `[{"type":"reasoning","text":"hm"}]`, `[{"type":"image","data":{"0":1}}]`, `[7,null,"data:,x"]`,
	} {
		if got := readAttachments(t, `{"type":"human","id":"m1","content":`+content+`}`); got != nil {
			t.Errorf("%s: %v", content, got)
		}
	}
	got := readAttachments(t, `{"type":"human","id":"../x","content":[{"type":"image","data":"aGk="}]}`)
	if diff := cmp.Diff([]read{{"attachment.bin", "", "", "hi"}}, got); diff != "" {
		t.Errorf("an id that is not a name (-want +got):\n%s", diff)
	}
}

func TestNumbered(t *testing.T) {
	t.Parallel()
	for _, c := range [][2]string{{"a.png", "a-2.png"}, {"a.tar.gz", "a.tar-2.gz"}, {"README", "README-2"}, {".env", ".env-2"}} {
		a := Attachment{Name: c[0]}
		if a.Numbered(1) != c[0] || a.Numbered(2) != c[1] {
			t.Errorf("%s: %s, %s", c[0], a.Numbered(1), a.Numbered(2))
		}
	}
}

func TestCheckAttachments(t *testing.T) {
	t.Parallel()
	const good, bad = `{"role":"user","content":[{"type":"image","data":"aGk="}]}`, `{"role":"user","content":[{"type":"image","data":"!"}]}`
	for _, c := range []struct {
		input, messages string
		limit           int64
		class           mapping.Class
		says            string
	}{
		{input: `{"messages":[` + good + `]}`, limit: 2},
		{input: `{"messages":[` + good + `]}`, limit: 1, class: mapping.TooLarge, says: "input.messages[0]: the file"},
		{input: `{"messages":[` + good + `,` + bad + `]}`, class: mapping.Invalid, says: "input.messages[1]: the file"},
		{input: `{"messages":` + bad + `}`, class: mapping.Invalid, says: "input.messages: the file"},
		{input: `{"messages":[` + good + `]}`, messages: `[` + good + `,` + bad + `]`, class: mapping.Invalid, says: "messages[1]: the file"},
		{input: `{"messages":[{"role":"user","content":[{"type":"image_url","image_url":"https://x.example"}]}]}`},
	} {
		in, err := ParseInput(json.RawMessage(c.input), json.RawMessage(c.messages), someRun)
		if err != nil {
			t.Fatal(err)
		}
		err = in.CheckAttachments(c.limit)
		if c.class == "" && err != nil || c.class != "" && (err == nil || mapping.Classify(err).Class != c.class || !strings.HasPrefix(mapping.Classify(err).Message, c.says)) {
			t.Errorf("%s, %s: %v", c.input, c.messages, err)
		}
	}
}

func TestUntold(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		content      string
		links, parts bool
	}{
		{`"hi"`, false, false},
		{`["a",{"type":"text","text":"b"},{"type":"input_text","text":"c"},{"type":"image","data":"aGk="}]`, false, false},
		{`[{"type":"image_url","image_url":"https://x.example"}]`, true, false},
		{`[{"type":"reasoning","reasoning":"hm"}]`, false, true},
		{`[7]`, false, true},
		{`[{"type":"file","data":"aGk=","filename":"a.log"}]`, false, true},
		{`[{"type":"file","data":"aGk=","filename":"a.txt"}]`, false, false},
		{`[{"type":"tool_use","id":"1","name":"search","input":{}}]`, false, false},
	} {
		in, err := ParseInput(json.RawMessage(`{"messages":[{"role":"assistant","tool_calls":[{"name":"search","args":{},"id":"1"}],"content":`+c.content+`}]}`), nil, someRun)
		if err != nil {
			t.Fatal(err)
		}
		if links, parts := in.LostAttachments([]string{"*.log"}); links != c.links || parts != c.parts {
			t.Errorf("%s: %v, %v", c.content, links, parts)
		}
	}
}

func TestSay(t *testing.T) {
	t.Parallel()
	const message = `{"type":"human","id":"m1","content":[{"type":"text","text":"look"},{"type":"image","data":"aGk=","metadata":{"name":"a.png"}},` +
		`{"type":"image_url","image_url":"https://x.example/b.png"},{"type":"file","data":"aGk=","filename":"lost"}]}`
	got := TextWithFiles(json.RawMessage(message), func(a Attachment) string {
		if a.Name == "lost" {
			return ""
		}
		return "in/" + a.Name
	})
	const want = "look\n[Attached file: in/a.png]\n[Attached link: https://x.example/b.png]\n[Attached file, not passed on: lost]"
	if got != want {
		t.Errorf("%q", got)
	}
	if said := MessageText(WithContent(json.RawMessage(message), got)); said != want {
		t.Errorf("%q", said)
	}
}

// FuzzAttachments checks that the names of attachments are valid paths, and that no message causes a failure.
func FuzzAttachments(f *testing.F) {
	for _, s := range []string{`[{"type":"image","data":"aGk=","filename":"../a"}]`, `[{"type":"image_url","image_url":{"url":"data:,%2"}}]`,
		`[{"type":"file","file":{"file_data":"data:","filename":"\u0000"}}]`, `[{"type":"document","source":{"type":"text","data":"x"}}]`} {
		f.Add([]byte(s), "m1")
	}
	f.Fuzz(func(t *testing.T, content []byte, id string) {
		if !json.Valid(content) {
			return
		}
		message, _ := json.Marshal(map[string]any{"type": "human", "id": id, "content": json.RawMessage(content)})
		for _, a := range Attachments(message) {
			if clean, err := CleanPath(a.Numbered(2)); err != nil || clean != a.Numbered(2) || strings.Contains(clean, "/") {
				t.Errorf("%s: the name %q is %q, %v", content, a.Name, clean, err)
			}
			if !mapping.IsText(a.MIMEType) {
				t.Errorf("%s: the type %q", content, a.MIMEType)
			}
			if a.Held() {
				_, _ = io.Copy(io.Discard, a.Open())
			}
		}
		_ = TextWithFiles(message, func(a Attachment) string { return a.Name })
	})
}
