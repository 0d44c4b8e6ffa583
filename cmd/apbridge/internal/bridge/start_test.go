package bridge

import "testing"

func TestLogsNameNoSecretsOfURLs(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"apbridge.db": "apbridge.db", "postgres://user:word@host:5432/name?password=word": "postgres://host:5432/name",
		"http://user:word@h/path?key=word#word": "http://h/path", "http://word\x00://": "[hidden]",
	} {
		if got := withoutSecrets(in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}
