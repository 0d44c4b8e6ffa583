package config

import "github.com/apbridge/apbridge/mapping/credential"

// Credentials returns the credentials for the agent: the headers, and a password in the URL.
func (a Agent) Credentials() credential.Set { return credentialsOf(a.URL, a.Headers) }

// Credentials returns the credentials for the embeddings endpoint: the key, the headers, and a password in the URL.
func (i Index) Credentials() credential.Set {
	return credentialsOf(i.URL, i.Headers, i.Key.Reveal())
}

func credentialsOf(target string, headers map[string]Secret, more ...string) credential.Set {
	list := append(more, credential.InURL(target))
	for name, value := range headers {
		if !value.IsOfPrincipal() { // the ids of principals are not credentials
			list = append(list, credential.InHeader(name, value.Reveal())...)
		}
	}
	return credential.SetOf(list...)
}
