package house

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The tables of conformance/ say which test keeps what. A row names its tests
// as `folder.TestName`; a row without one says why.
var (
	namedTest = regexp.MustCompile("`([A-Za-z0-9_/]+)\\.((?:Test|Fuzz|Example)[A-Za-z0-9_]+)`")
	tableRow  = regexp.MustCompile(`(?m)^\| (S-\d{3}|P-\d{2}) \|(.*)\|$`)
)

// TestTablesNameRealTests fails when a table names a test that is not there, or
// leaves a number out.
func TestTablesNameRealTests(t *testing.T) {
	for _, table := range []struct {
		file, number string
		rows         int
	}{
		{"cases.md", "S-%03d", 80},
		{"promises.md", "P-%02d", 13},
	} {
		text, err := os.ReadFile(filepath.Join("..", "conformance", table.file))
		if err != nil {
			t.Fatal(err)
		}
		rows := map[string]string{}
		for _, row := range tableRow.FindAllStringSubmatch(string(text), -1) {
			rows[row[1]] = row[2]
		}
		for i := range table.rows {
			number := fmt.Sprintf(table.number, i+1)
			row, there := rows[number]
			if !there {
				t.Errorf("%s has no row %s", table.file, number)
				continue
			}
			cells := strings.Split(row, "|")
			tests := namedTest.FindAllStringSubmatch(row, -1)
			if why := strings.TrimSpace(cells[len(cells)-1]); len(tests) == 0 && len(why) < 20 {
				t.Errorf("%s, row %s names no test and does not say why", table.file, number)
			}
			for _, test := range tests {
				if !testExists(t, test[1], test[2]) {
					t.Errorf("%s, row %s: there is no %s in %s", table.file, number, test[2], test[1])
				}
			}
		}
	}
}

// testExists looks for the function in the test files of a folder.
func testExists(t *testing.T, folder, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "func "+name+"(") {
			return true
		}
	}
	return false
}
