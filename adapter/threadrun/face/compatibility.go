package face

import _ "embed"

// compatibility is what stock clients were seen to do before this version, as a JSON
// list; `make compatibility` writes it beside docs/compatibility.md.
//
//go:embed compatibility.json
var compatibility []byte
