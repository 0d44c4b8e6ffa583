package credential_test

import (
	"strings"
	"testing"

	"github.com/apbridge/apbridge/mapping/credential"
)

// TestCredentialsAreHidden: the value is, and what stands around it is not.
func TestCredentialsAreHidden(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"openai_api_key":"mark","a":1}`:                            `{"openai_api_key":"[hidden]","a":1}`,
		`{"apiKey" : "ma\"rk"}`:                                      `{"apiKey" : "[hidden]"}`,
		`{"headers":{"Authorization":"Bearer mark"}}`:                `{"headers":{"Authorization":"[hidden]"}}`,
		`{"Set-Cookie":"session=mark","cookie":"mark"}`:              `{"Set-Cookie":"[hidden]","cookie":"[hidden]"}`,
		`{"access_token":"mark","db":{"password":"mark"}}`:           `{"access_token":"[hidden]","db":{"password":"[hidden]"}}`,
		`{"token":"mark-mark-mark-mark"}`:                            `{"token":"[hidden]"}`,
		`{"hf_token":"mark-mark-mark-mark"}`:                         `{"hf_token":"[hidden]"}`,
		`{"webhookSecret":"mark-mark-mark-mark","pwd":"mark"}`:       `{"webhookSecret":"[hidden]","pwd":"[hidden]"}`,
		`{"Passphrase":"mark","account-key":"mark"}`:                 `{"Passphrase":"[hidden]","account-key":"[hidden]"}`,
		`{"db":"postgres://me:mark@host:1/x","at":"http://:mark@h"}`: `{"db":"postgres://me:[hidden]@host:1/x","at":"http://:[hidden]@h"}`,
		`{"db":"postgres:\/\/me:mark@host"}`:                         `{"db":"postgres:\/\/me:[hidden]@host"}`,
		`{"args":"{\"api_key\":\"mark\",\"q\":\"x\"}"}`:              `{"args":"{\"api_key\":\"[hidden]\",\"q\":\"x\"}"}`,
		"event: x\ndata: {\"password\":\"mark\"}\n\n":                "event: x\ndata: {\"password\":\"[hidden]\"}\n\n",
		`/files/a?X-Amz-Signature=mark&x=1`:                          `/files/a?X-Amz-Signature=[hidden]&x=1`,
		`see http://h/a?x=1&key=mark.`:                               `see http://h/a?x=1&key=[hidden]`,
		`{"url":"http://h/?a=1\u0026token=mark"}`:                    `{"url":"http://h/?a=1\u0026token=[hidden]"}`,
		`password=mark&user=me`:                                      `password=[hidden]&user=me`,
		`x ` + credential.RunTokenPrefix + `eyJmark.mark-_1 y`:       `x [hidden] y`,
		`{"store":{"token":"` + credential.RunTokenPrefix + `m`:      `{"store":{"token":"[hidden]`,
	} {
		got := string(credential.HideNamed([]byte(text)))
		if got != want || strings.Contains(got, "mark") {
			t.Errorf("%s\ngot  %s\nwant %s", text, got, want)
		}
	}
}

// TestWordsAreNotHidden: what only looks like the name of a credential stays.
func TestWordsAreNotHidden(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{"token":"Hello"}`, `{"token":"a word and a further word"}`, `{"usage_metadata":{"input_tokens":3}}`, `{"secret":"none"}`,
		`{"keyboard":"qwerty","monkey":"x"}`, `{"content":"the password is not here"}`, `/runs?limit=3&after=4`, `{"idempotency_key":"a"}`, `{"tokens":["a"]}`,
		`{"bos_token":"<|begin_of_text|>"}`, `http://host:8080/a@b`, `http://me@host:80/`, `http://host:80?at=a@b`, `{"next_token":"page-2"}`,
	} {
		if got := string(credential.HideNamed([]byte(text))); got != text {
			t.Errorf("%s became %s", text, got)
		}
	}
}
