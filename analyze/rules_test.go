package analyze

import (
	"slices"
	"strings"
	"testing"

	"assay/collect/plan"
)

// TestRulesNameTheirInputs holds the inputs of each rule to columns that there
// are and that the view of its scope, or one it reads, names.
func TestRulesNameTheirInputs(t *testing.T) {
	db := newFixture(t).load()
	var columns []string
	for _, line := range query(t, db, "SELECT table_name || '.' || column_name FROM duckdb_columns() WHERE NOT internal") {
		columns = append(columns, line[0])
	}
	for _, rule := range plan.Rules {
		sql, ok := ViewSQL(rule.Scope.View())
		counted, _ := ViewSQL("counted_attempts")
		if !ok || rule.Meaning == "" || len(rule.Inputs) == 0 {
			t.Errorf("%s: no view, no sentence or no inputs", rule.ID)
		}
		for _, input := range rule.Inputs {
			_, column, _ := strings.Cut(input, ".")
			if !slices.Contains(columns, input) {
				t.Errorf("%s: there is no column %s", rule.ID, input)
			}
			if !strings.Contains(sql, column) && !strings.Contains(counted, column) {
				t.Errorf("%s: its view does not read %s", rule.ID, input)
			}
		}
	}
}

// TestEveryRuleIsJudgedByTheViewOfItsScope compares the rules that are data with
// those that the views know.
func TestEveryRuleIsJudgedByTheViewOfItsScope(t *testing.T) {
	f := newFixture(t)
	f.cell("baseline", "a")
	f.request("baseline", "a", 0)
	db := f.load()
	judged := map[plan.Scope][][]string{
		plan.ScopeRequest: query(t, db, "SELECT DISTINCT rule FROM request_verdicts ORDER BY rule"),
		plan.ScopeCell:    query(t, db, "SELECT DISTINCT rule FROM cell_verdicts WHERE scope = 'cell' ORDER BY rule"),
	}
	for scope, found := range judged {
		var want []string
		for _, rule := range plan.Rules {
			if rule.Scope == scope {
				want = append(want, string(rule.ID))
			}
		}
		slices.Sort(want)
		var got []string
		for _, line := range found {
			got = append(got, line[0])
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: the views judge %v, the rules are %v", scope, got, want)
		}
	}
}
