// Package examples holds the campaign spec that the demo runs, so that the
// built program has it wherever it is started.
package examples

import _ "embed"

// GLM53Serving is a campaign spec of two arms and 48 cells, see
// `assay plan expand`.
//
//go:embed glm53-serving.yaml
var GLM53Serving []byte
