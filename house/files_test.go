package house

import (
	"bytes"
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// longest is how many lines a file may have.
const longest = 450

// TestImportPlaces checks in which files the framework libraries are imported.
func TestImportPlaces(t *testing.T) {
	var antsFiles []string
	goFiles(t, func(f *file, _ *token.FileSet, syntax *ast.File) {
		for _, spec := range syntax.Imports {
			imported, _ := strconv.Unquote(spec.Path.Value)
			for _, p := range places {
				if strings.HasPrefix(imported, p.library) && !p.allowed(f.path) {
					t.Errorf("%s imports %s, which is for %s only", f.path, imported, p.sayings)
				}
			}
			if strings.HasPrefix(imported, ants) && !f.test() {
				antsFiles = append(antsFiles, f.path)
			}
			if f.test() || !strings.HasPrefix(f.path, "readpolicies/") {
				continue
			}
			if imported == "time" || imported == "sync" || imported == "sync/atomic" {
				t.Errorf("%s imports %s: a read policy has no clock and no lock", f.path, imported)
			}
		}
	})
	if len(antsFiles) > 1 || len(antsFiles) == 1 && path.Dir(antsFiles[0]) != "scheduling" {
		t.Errorf("ants is for one file of scheduling only, and is in %v", antsFiles)
	}
}

// TestNoInit looks for init functions and goroutines where there are none.
func TestNoInit(t *testing.T) {
	goFiles(t, func(f *file, set *token.FileSet, syntax *ast.File) {
		for _, declaration := range syntax.Decls {
			if function, ok := declaration.(*ast.FuncDecl); ok && function.Recv == nil && function.Name.Name == "init" {
				t.Errorf("%s: an init function; say it in a constructor", set.Position(function.Pos()))
			}
		}
		if strings.HasPrefix(f.path, "readpolicies/") && !f.test() {
			ast.Inspect(syntax, func(n ast.Node) bool {
				if _, ok := n.(*ast.GoStmt); ok {
					t.Errorf("%s: a read policy starts no goroutine", set.Position(n.Pos()))
				}
				return true
			})
		}
	})
}

// TestNoSleepInTests wants tests to wait for what they wait for. A benchmark
// may sleep where it stands for a slow disk.
func TestNoSleepInTests(t *testing.T) {
	goFiles(t, func(f *file, set *token.FileSet, syntax *ast.File) {
		if !f.test() || importsSynctest(syntax) || path.Base(f.path) == "bench_test.go" {
			return
		}
		ast.Inspect(syntax, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok && s.Sel.Name == "Sleep" {
				if x, ok := s.X.(*ast.Ident); ok && x.Name == "time" {
					t.Errorf("%s: a test sleeps; wait for the event, or use testing/synctest", set.Position(n.Pos()))
				}
			}
			return true
		})
	})
}

// importsSynctest excuses files in which sleeping is how the fake clock of
// testing/synctest is moved.
func importsSynctest(syntax *ast.File) bool {
	return slices.ContainsFunc(syntax.Imports, func(spec *ast.ImportSpec) bool { return spec.Path.Value == `"testing/synctest"` })
}

// TestFileLength keeps files small enough to be seen at once.
func TestFileLength(t *testing.T) {
	for _, f := range files(t, ".go") {
		if lines := bytes.Count(f.text, []byte("\n")); lines > longest && !f.generated() {
			t.Errorf("%s has %d lines, more than %d: split it by nouns", f.path, lines, longest)
		}
	}
}

// TestPackages checks names and comments of packages.
func TestPackages(t *testing.T) {
	forbidden := []string{"util", "utils", "common", "types", "helpers", "helper", "misc", "base", "shared"}
	for _, p := range allPackages(t) {
		if slices.Contains(forbidden, path.Base(p.ImportPath)) || slices.Contains(forbidden, p.Name) {
			t.Errorf("package %s: name it after what it has", p.short())
		}
		generated := !slices.ContainsFunc(p.GoFiles, func(name string) bool { return !strings.Contains(name, ".pb.") })
		if p.Doc == "" && !generated {
			t.Errorf("package %s has no package comment", p.short())
		}
	}
}

// TestBannedWords finds work that was put off.
func TestBannedWords(t *testing.T) {
	banned := regexp.MustCompile(`\b(` + "TO" + `DO|FIX` + `ME|XX` + `X|HA` + `CK)\b`)
	for _, f := range files(t, ".go", ".md", ".proto", ".yaml", ".yml", ".sh", "Makefile", ".ci/run") {
		for i, line := range bytes.Split(f.text, []byte("\n")) {
			if word := banned.Find(line); word != nil {
				t.Errorf("%s:%d: %s", f.path, i+1, word)
			}
		}
	}
}
