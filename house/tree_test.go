package house

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/tidemark-engine/tidemark"

// pkg is what go list says of one package of the module.
type pkg struct {
	ImportPath, Dir, Name, Doc         string
	GoFiles, TestGoFiles, XTestGoFiles []string
	Imports, TestImports, XTestImports []string
	Deps                               []string
	Error                              *struct{ Err string }
}

// short is the import path inside the module: engine/managedledger.
func (p *pkg) short() string { return short(p.ImportPath) }

func short(path string) string {
	return strings.TrimPrefix(strings.TrimPrefix(path, module), "/")
}

// packages lists the packages of the module once for all tests.
var packages = sync.OnceValues(func() ([]*pkg, error) {
	list := exec.Command("go", "list", "-e", "-deps=false",
		"-json=ImportPath,Dir,Name,Doc,GoFiles,TestGoFiles,XTestGoFiles,Imports,TestImports,XTestImports,Deps,Error", "./...")
	list.Dir = ".."
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		return nil, err
	}
	var found []*pkg
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		p := new(pkg)
		if err := decoder.Decode(p); err == io.EOF {
			return found, nil
		} else if err != nil {
			return nil, err
		}
		found = append(found, p)
	}
})

func allPackages(t *testing.T) []*pkg {
	t.Helper()
	found, err := packages()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	return found
}

// file is one file of the tree.
type file struct {
	path string // from the root, with slashes
	text []byte
}

func (f *file) generated() bool {
	return strings.HasSuffix(f.path, ".pb.go") || strings.HasSuffix(f.path, ".pb.gw.go")
}

func (f *file) test() bool { return strings.HasSuffix(f.path, "_test.go") }

// files returns the text files of the tree that people write, by suffix.
func files(t *testing.T, suffixes ...string) []*file {
	t.Helper()
	var found []*file
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel("..", path)
		name = filepath.ToSlash(name)
		if d.IsDir() {
			if name == ".git" || name == "bin" || name == "data" || d.Name() == "testdata" {
				return filepath.SkipDir
			}
			return nil
		}
		for _, suffix := range suffixes {
			if strings.HasSuffix(name, suffix) {
				text, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				found = append(found, &file{path: name, text: text})
				break
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// goFiles calls check with every Go file that is not generated, parsed.
func goFiles(t *testing.T, check func(f *file, set *token.FileSet, syntax *ast.File)) {
	t.Helper()
	for _, f := range files(t, ".go") {
		if f.generated() {
			continue
		}
		set := token.NewFileSet()
		syntax, err := parser.ParseFile(set, f.path, f.text, parser.ParseComments)
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		check(f, set, syntax)
	}
}
