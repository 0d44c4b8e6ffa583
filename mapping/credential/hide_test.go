package credential_test

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/apbridge/apbridge/mapping/credential"
)

func hide(text string) string { return string(credential.Set(nil).HideBytes([]byte(text))) }

// hideTwice fails the test if hiding a text again changes it.
func hideTwice(t *testing.T, text string) string {
	t.Helper()
	once := hide(text)
	if again := hide(once); again != once {
		t.Errorf("%s\nbecame  %s\nand then %s", text, once, again)
	}
	return once
}

// TestCredentialsAreHidden checks that only the values are hidden.
func TestCredentialsAreHidden(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		// Members of JSON.
		`{"openai_api_key":"mark","a":1}`:                      `{"openai_api_key":"[hidden]","a":1}`,
		`{"apiKey" : "ma\"rk"}`:                                `{"apiKey" : "[hidden]"}`,
		`{"headers":{"Authorization":"Bearer mark"}}`:          `{"headers":{"Authorization":"[hidden]"}}`,
		`{"Set-Cookie":"session=mark","cookie":"mark"}`:        `{"Set-Cookie":"[hidden]","cookie":"[hidden]"}`,
		`{"access_token":"mark","db":{"password":"mark"}}`:     `{"access_token":"[hidden]","db":{"password":"[hidden]"}}`,
		`{"token":"mark-mark-mark-mark"}`:                      `{"token":"[hidden]"}`,
		`{"hf_token":"mark-mark-mark-mark"}`:                   `{"hf_token":"[hidden]"}`,
		`{"webhookSecret":"mark-mark-mark-mark","pwd":"mark"}`: `{"webhookSecret":"[hidden]","pwd":"[hidden]"}`,
		`{"Passphrase":"mark","account-key":"mark"}`:           `{"Passphrase":"[hidden]","account-key":"[hidden]"}`,
		`{"x_id_token":"mark","idToken":"mark"}`:               `{"x_id_token":"[hidden]","idToken":"[hidden]"}`,
		`{"API Key":"mark"}`:                                   `{"API Key":"[hidden]"}`,
		`{"private_key_pem":"mark","credentials":"mark"}`:      `{"private_key_pem":"[hidden]","credentials":"[hidden]"}`,
		`{"userPasscode":"mark"}`:                              `{"userPasscode":"[hidden]"}`,
		// Names with escapes.
		`{"api\u005fkey":"mark"}`:               `{"api\u005fkey":"[hidden]"}`,
		`{"\u0061\u0070i_\u004bey":"mark"}`:     `{"\u0061\u0070i_\u004bey":"[hidden]"}`,
		`{"a":"{\"pass\\u0077ord\":\"mark\"}"}`: `{"a":"{\"pass\\u0077ord\":\"[hidden]\"}"}`,
		// Numbers, lists, objects.
		`{"password": 47110815, "n": 47110815.50}`:                                                                     `{"password": "[hidden]", "n": 47110815.50}`,
		`{"api_key":["mark", {"a":"mark"}, 12, null, true, ""]}`:                                                       `{"api_key":["[hidden]", {"a":"[hidden]"}, "[hidden]", null, true, ""]}`,
		`{"private_key":{"kty":"mark","d":"mark","n":[1e9]},"d":"open"}`:                                               `{"private_key":{"kty":"[hidden]","d":"[hidden]","n":["[hidden]"]},"d":"open"}`,
		`{"token":["mark-mark-mark-mark","word"]}`:                                                                     `{"token":["[hidden]","word"]}`,
		`{"cookies":[{"name":"sid","value":"mark"}]}`:                                                                  `{"cookies":[{"name":"sid","value":"[hidden]"}]}`,
		`[{"name":"Authorization","value":"mark"},{"value":"mark","key":"X-Api-Key"},{"name":"Accept","value":"a/b"}]`: `[{"name":"Authorization","value":"[hidden]"},{"value":"[hidden]","key":"X-Api-Key"},{"name":"Accept","value":"a/b"}]`,
		`{"properties":{"api_key":{"type":"string","default":"mark","title":"Key","minLength":3}}}`:                    `{"properties":{"api_key":{"type":"string","default":"[hidden]","title":"Key","minLength":3}}}`,
		// Pairs, as lists of headers.
		`["x-api-key","mark"]`: `["x-api-key","[hidden]"]`,
		`{"headers":[["accept","a/b"],["Authorization" , "ma\"rk"],["x-auth\u002dtoken","mark"]]}`: `{"headers":[["accept","a/b"],["Authorization" , "[hidden]"],["x-auth\u002dtoken","[hidden]"]]}`,
		`{"header":["cookie","mark"],"a":[["token","mark-mark-mark-mark"],["token","word"]]}`:      `{"header":["cookie","[hidden]"],"a":[["token","[hidden]"],["token","word"]]}`,
		`{"a":"[[\"x-api-key\",\"mark\"]]"}`:                                                       `{"a":"[[\"x-api-key\",\"[hidden]\"]]"}`,
		`{"a":[["x-api-key","mark`:                                                                 `{"a":[["x-api-key","[hidden]`,
		`[["x-api-key","mark"`:                                                                     `[["x-api-key","[hidden]"`,
		// Texts with JSON.
		`{"args":"{\"api_key\":\"mark\",\"q\":\"x\"}"}`:                         `{"args":"{\"api_key\":\"[hidden]\",\"q\":\"x\"}"}`,
		`{"args":"{\"private_key\":\"-----BEGIN\\nma\\\"rk\"}"}`:                `{"args":"{\"private_key\":\"[hidden]\"}"}`,
		`{"args":"{\"password\":4711,\"n\":4711}"}`:                             `{"args":"{\"password\":\"[hidden]\",\"n\":4711}"}`,
		`{"a":"{\"a\":\"{\\\"a\\\":\\\"{\\\\\\\"password\\\\\\\":12}\\\"}\"}"}`: `{"a":"{\"a\":\"{\\\"a\\\":\\\"{\\\\\\\"password\\\\\\\":\\\\\\\"[hidden]\\\\\\\"}\\\"}\"}"}`,
		`{"a":"see {\"token\":[\"mark-mark-mark-mark\"]} \/ \u00e9"}`:           `{"a":"see {\"token\":[\"[hidden]\"]} \/ \u00e9"}`,
		`"{\"api_key\":\"mark\"}"`:                                              `"{\"api_key\":\"[hidden]\"}"`,
		`{"a":"\ud83d\ude00 {\"pwd\":\"mark\"} \ud83d"}`:                        `{"a":"\ud83d\ude00 {\"pwd\":\"[hidden]\"} \ud83d"}`,
		`{"a":"b","args":"{\"b\":1,\"password\":\"mark`:                         `{"a":"b","args":"{\"b\":1,\"password\":\"[hidden]`,
		// JSON among other words, and parts of JSON.
		"event: x\ndata: {\"password\":\"mark\"}\n\n":                                  "event: x\ndata: {\"password\":\"[hidden]\"}\n\n",
		"data: {\ndata:   \"password\": \"mark\",\ndata:   \"secretKey\":\ndata: 1}\n": "data: {\ndata:   \"password\": \"[hidden]\",\ndata:   \"secretKey\":\ndata: 1}\n",
		"{\"pwd\":\"mark\"}\n{\"a\":[1,\n2]}\n{\"pwd\":[\"mark\"]}\n":                  "{\"pwd\":\"[hidden]\"}\n{\"a\":[1,\n2]}\n{\"pwd\":[\"[hidden]\"]}\n",
		`status 401: {"error":{"api_key":"mark"}} at 5" of {"pwd":"mark"}`:             `status 401: {"error":{"api_key":"[hidden]"}} at 5" of {"pwd":"[hidden]"}`,
		`logged {\"api_key\": \"mark\", \"n\": 1}`:                                     `logged {\"api_key\": \"[hidden]\", \"n\": 1}`,
		`{"a":NaN,"api_key":"mark","b":-Infinity}`:                                     `{"a":NaN,"api_key":"[hidden]","b":-Infinity}`,
		`{"api_key":"mark`:                                              `{"api_key":"[hidden]`,
		`{"a":"b", oops, "api_key": "mark"`:                             `{"a":"b", oops, "api_key": "[hidden]"`,
		`key": 1, "api_key": "mark", "b": 2}`:                           `key": 1, "api_key": "[hidden]", "b": 2}`,
		`{'api_key': 'mark', "b": b'x', 'password': b'mark', 'a': "b"}`: `{'api_key': '[hidden]', "b": b'x', 'password': b'[hidden]', 'a': "b"}`,
		`Client(api_key='mark', password="mark", retries=3)`:            `Client(api_key='[hidden]', password="[hidden]", retries=3)`,
		// Passwords of URLs.
		`{"db":"postgres://me:mark@host:1/x","at":"http://:mark@h"}`: `{"db":"postgres://me:[hidden]@host:1/x","at":"http://:[hidden]@h"}`,
		`{"db":"postgres:\/\/me:mark@host"}`:                         `{"db":"postgres:\/\/me:[hidden]@host"}`,
		`redis://u:mark@mark@h:1, http://u:ma/rk@h/x`:                `redis://u:[hidden]@h:1, http://u:[hidden]@h/x`,
		`{"db":"postgres://me:ma\\rk@host"}`:                         `{"db":"postgres://me:[hidden]@host"}`,
		// Parameters of URLs and forms.
		`/files/a?X-Amz-Signature=mark&x=1`:       `/files/a?X-Amz-Signature=[hidden]&x=1`,
		`see http://h/a?x=1&key=mark.`:            `see http://h/a?x=1&key=[hidden]`,
		`{"url":"http://h/?a=1\u0026token=mark"}`: `{"url":"http://h/?a=1\u0026token=[hidden]"}`,
		`/a?api%5Fkey=mark&%74oken=mark#sig=mark`: `/a?api%5Fkey=[hidden]&%74oken=[hidden]#sig=[hidden]`,
		`password=mark&user=me`:                   `password=[hidden]&user=me`,
		`key=mark&user=me`:                        `key=[hidden]&user=me`,
		// Headers and variables.
		"OPENAI_API_KEY=mark PORT=1":                               "OPENAI_API_KEY=[hidden] PORT=1",
		"> Authorization: Basic bWFyazEyMw==\n> Cookie: a=mark; b": "> Authorization: Basic [hidden]\n> Cookie: [hidden]",
		"x-api-key: mark12, password: hunter2":                     "x-api-key: [hidden], password: [hidden]",
		"sent Bearer mark0123456789 to it":                         "sent Bearer [hidden] to it",
		// Forms of keys.
		"Incorrect API key provided: sk-proj-abcdEFGH01234567mark. You can":                  "Incorrect API key provided: [hidden]. You can",
		`{"error":"no sk-ant-api03-abcdEFGH01234567_-mark, or ghp_0123456789abcdefmark"}`:    `{"error":"no [hidden], or [hidden]"}`,
		`{"sk-abcdEFGH01234567mark":{"used":1}}`:                                             `{"[hidden]":{"used":1}}`,
		"AKIA0123456789ABCDEF xoxb-0123456789-mark AIzaSyA-0123456789abcdefghijklmno-mark":   "[hidden] [hidden] [hidden]",
		"jwt eyJhbGciOiJI.eyJzdWIiOiIx.c2lnbWFyaw-mark_.":                                    "jwt [hidden].",
		"-----BEGIN RSA PRIVATE KEY-----\nmark\nma+rk==\n-----END RSA PRIVATE KEY-----\nend": "[hidden]\nend",
		`{"pem":"-----BEGIN PRIVATE KEY-----\nmark\n-----END PRIVATE KEY-----\n"}`:           `{"pem":"[hidden]\n"}`,
		// Tokens of runs.
		`x ` + credential.RunTokenPrefix + `eyJmark.mark-_1 y`:  `x [hidden] y`,
		`{"store":{"token":"` + credential.RunTokenPrefix + `m`: `{"store":{"token":"[hidden]`,
	} {
		got := hideTwice(t, text)
		if got != want {
			t.Errorf("%s\ngot  %s\nwant %s", text, got, want)
		}
		if json.Valid([]byte(text)) && !json.Valid([]byte(got)) {
			t.Errorf("%s is no longer JSON: %s", text, got)
		}
	}
}

// TestWordsAreNotHidden checks texts that look like the name or the form of a credential.
func TestWordsAreNotHidden(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{"token":"Hello"}`, `{"token":"a word and a further word"}`, `{"usage_metadata":{"input_tokens":3}}`, `{"secret":"none"}`,
		`{"keyboard":"qwerty","monkey":"x"}`, `{"content":"the password is not here"}`, `/runs?limit=3&after=4`, `{"idempotency_key":"a"}`, `{"tokens":["a"]}`,
		`{"bos_token":"<|begin_of_text|>"}`, `http://host:8080/a@b`, `http://me@host:80/`, `http://host:80?at=a@b`, `{"next_token":"page-2"}`,
		`{"next_token": 12345678901234567890, "a":1.0e+5}`, `{"password":null,"api_key":true,"jwt":""}`, `{"invalid_token":"yes"}`,
		`http://[::1]:80/a@b`, `{"required":["password","email"]}`, `"required":["password","email"]`, `{"enum":["password","refresh"]}`,
		`["password","email","name"]`, `["email","password"]`, `["password",["email"]]`, `{"allow_credentials":"always","passcodes":"two"}`, `{"api_key":{"type":"string","title":"Key"}}`,
		"Wrong password: try again", "The API key: it is missing", "a token: something-very-long-without-digits", "bearer of good news", "Basic authentication",
		"sk-learn is no key, nor is task-0123456789abcdef01", "sk-proj-********************abcd", "AKIA", "-----BEGIN CERTIFICATE-----\nabc\n-----END CERTIFICATE-----",
		credential.RunTokenPrefix, `{"a":"\u00e9 \/ \ud83d\ude00 \"q\" {\"b\":[1, 2.50]}"}`, "\xff\x00{\"a\":\"\xff\"", `{"a":{"name":"Accept","value":"x"}}`,
	} {
		if got := hideTwice(t, text); got != text {
			t.Errorf("%s became %s", text, got)
		}
	}
}

// TestKnownCredentialsAreHiddenInEverySpelling includes JSON with unusual escapes, texts within it, and numbers.
func TestKnownCredentialsAreHiddenInEverySpelling(t *testing.T) {
	t.Parallel()
	s := credential.SetOf(`a"b-mark`, "4711081547")
	for text, want := range map[string]string{
		`said a"b-mark`:                            `said [hidden]`,
		`{"a":"x a\"b-mark y"}`:                    `{"a":"x [hidden] y"}`,
		`{"a":"x a\u0022\u0062-mark y"}`:           `{"a":"x [hidden] y"}`,
		`{"a":"{\"a\":\"a\\\"b-mark\"}"}`:          `{"a":"{\"a\":\"[hidden]\"}"}`,
		`{"a\u0022b-mark":1,"n":4711081547,"x":5}`: `{"[hidden]":1,"n":"[hidden]","x":5}`,
	} {
		if got := s.Hide(text); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", text, got, want)
		}
	}
}

// TestLongTextsTakeLinearTime checks that no text is read again for each of its brackets, quotes, escapes, separators
// or prefixes.
func TestLongTextsTakeLinearTime(t *testing.T) {
	t.Parallel()
	const size, most = 1 << 19, 5 * time.Second // each takes less than a tenth of that
	for _, part := range []string{
		`[`, `{`, `{"a":`, `{"a":[`, `"`, `\"`, `"\"`, `\\`, `{"`, `{"a":"`, `{"a":"{\"a\":\"`, `{"name":"password","value":`, `://`, `:`, `=`, `a=`, "a:b@", `://a:`, `\u0022`,
		`-----BEGIN PRIVATE KEY-----`, `eyJaaaaaaaa.`, `bearer `, `sk-`, `apbridge-run_`, `"a":`, `"a":"\`,
		`password:`, `token:`, `a_token=`, `cookie:`, `cookie:=`, `SG.`, `["password",`, `["token","`, `["token","\"`, `"required":[`,
	} {
		text := strings.Repeat(part, size/len(part))
		start := time.Now()
		hide(text)
		if took := time.Since(start); took > most {
			t.Errorf("%q took %v", part, took)
		}
	}
}

// FuzzHide checks that JSON stays JSON of the same form, that other parts are unchanged, and that hiding is idempotent.
// A credential is found in any JSON, and in texts within it.
func FuzzHide(f *testing.F) {
	for _, text := range []string{
		`{"api_key":"mark","n":1.50}`, `{"args":"{\"password\":12}"}`, "data: {\"a\":\"b\"}\n", `http://u:p@h?token=x`, `{'a': 'b'}`, "x: [1, \"a\\u0022\"]", `"\ud800"`,
	} {
		f.Add(text, 1)
	}
	f.Fuzz(func(t *testing.T, text string, depth int) {
		once := hideTwice(t, text)
		var before, after any
		if json.Unmarshal([]byte(text), &before) == nil {
			if err := json.Unmarshal([]byte(once), &after); err != nil {
				t.Fatalf("%q became %q: %v", text, once, err)
			}
			sameForm(t, before, after)
		}
		const mark = "fuzz-mark"
		planted := `{"s":` + string(quoted(text)) + `,"api_key":"` + mark + `","n":[1.50]}`
		for range depth & 3 {
			planted = `{"s":` + string(quoted(planted)) + `}`
		}
		if got := hide(planted); strings.Contains(got, mark) {
			t.Errorf("%s\nbecame %s", planted, got)
		}
	})
}

func quoted(text string) []byte {
	b, _ := json.Marshal(text)
	return b
}

// sameForm compares the structure of two values. A name, a text or a number may be hidden in the second.
func sameForm(t *testing.T, a, b any) {
	t.Helper()
	switch x := a.(type) {
	case map[string]any:
		y, _ := b.(map[string]any)
		for name, value := range x {
			if below, there := y[name]; there {
				sameForm(t, value, below)
			}
		}
	case []any:
		y, _ := b.([]any)
		if len(x) != len(y) {
			t.Fatalf("%v became %v", a, b)
		}
		for i := range x {
			sameForm(t, x[i], y[i])
		}
	default:
		text, _ := b.(string)
		if !strings.Contains(text, credential.HiddenText) && !reflect.DeepEqual(a, b) {
			t.Fatalf("%s became %s", strconv.Quote(strings.TrimSpace(text)), text)
		}
	}
}
