package sample

import (
	"encoding/json"
)

// gaps collects why columns of one reading are null, by column.
type gaps map[string]string

// note keeps the first reason of each column.
func (g gaps) note(reason string, columns ...string) {
	for _, c := range columns {
		if _, known := g[c]; !known {
			g[c] = reason
		}
	}
}

// text is the column missing: a JSON object with sorted keys, nil without gaps.
func (g gaps) text() *string {
	if len(g) == 0 {
		return nil
	}
	out, err := json.Marshal(map[string]string(g)) // sorts the keys
	if err != nil {
		return nil // texts cannot fail
	}
	s := string(out)
	return &s
}
