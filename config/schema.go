package config

import _ "embed"

//go:embed schema.json
var schema string

// Schema returns the JSON Schema (draft 2020-12) of a configuration file, for editors. It knows keys, kinds of values
// and choices, with the words of config.example.yaml; what Load refuses besides, such as an agent without a URL's host,
// it does not.
func Schema() string { return schema }
