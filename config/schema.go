package config

import _ "embed"

//go:embed schema.json
var schema string

// Schema returns the JSON Schema (draft 2020-12) of a configuration file, for editors. It has keys, kinds of values and
// choices, with the texts of config.example.yaml. It lacks other checks of Load, such as refusing a URL without a host.
func Schema() string { return schema }
