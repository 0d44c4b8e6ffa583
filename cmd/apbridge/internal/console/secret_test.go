package console

import "testing"

func TestWithoutSecrets(t *testing.T) {
	t.Parallel()
	for want, words := range map[string][]string{
		"python agent.py --port 80 --max-tokens=100 --keyboard=us":                      {"python", "agent.py", "--port", "80", "--max-tokens=100", "--keyboard=us"},
		"agent --key=[hidden] --api-key [hidden] -v":                                    {"agent", "--key=hunter2 and more", "--api-key", "hunter2", "-v"},
		"env TOKEN=[hidden] OPENAI_API_KEY=[hidden] PORT=1 agent":                       {"env", "TOKEN=hunter2", "OPENAI_API_KEY=hunter2", "PORT=1", "agent"},
		"agent --db postgres://[hidden]@h:5432/d http://h/?a=1&key=[hidden]":            {"agent", "--db", "postgres://me:hunter2@h:5432/d", "http://h/?a=1&key=hunter2"},
		"agent http://[hidden]@h http://[hidden]@h":                                     {"agent", "http://me:hunter2%zz/@h", "http://hunter2@h"},
		"curl -H Authorization: [hidden]":                                               {"curl", "-H", "Authorization: Bearer hunter2"},
		"sh -c cd x && PORT=1 TOKEN=[hidden] agent --password [hidden] -v":              {"sh", "-c", "cd x && PORT=1 TOKEN=hunter2 agent --password hunter2 -v"},
		`agent --settings {"model":"m","api_key":"[hidden]","n":{"token": "[hidden]"}}`: {"agent", "--settings", `{"model":"m","api_key":"hun\"hunter2","n":{"token": "hunter2"}}`},
		`sh -c agent '{\"api_key\": [hidden], \"model\": \"m\"}'`:                       {"sh", "-c", `agent '{\"api_key\": \"hunter2\", \"model\": \"m\"}'`},
		"agent {password: [hidden], keys: {pin: 1}, at: http://127.0.0.1:80}":           {"agent", "{password: 'hunter2', keys: {pin: 1}, at: http://127.0.0.1:80}"},
		"curl -H X-Api-Key: [hidden] -H Authorization: [hidden]":                        {"curl", "-H", "X-Api-Key: hunter2", "-H", "Authorization: Basic hunter2"},
		"agent [hidden]":   {"agent", "sk-hunter2hunter2hunter2"},
		"agent --token -v": {"agent", "--token", "-v"},
		"agent --agent graph=http://127.0.0.1:2024": {"agent", "--agent", "graph=http://127.0.0.1:2024"},
	} {
		if got := WithoutSecrets(words); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}
