package house

import (
	"go/ast"
	"go/token"
	"path"
	"testing"
)

// TestNoMutablePackageVariables looks for package variables that a function
// assigns to, changes an element of, or takes the address of.
func TestNoMutablePackageVariables(t *testing.T) {
	type source struct {
		set    *token.FileSet
		syntax *ast.File
	}
	sources := map[string][]source{} // by directory
	goFiles(t, func(f *file, set *token.FileSet, syntax *ast.File) {
		if !f.test() {
			sources[path.Dir(f.path)] = append(sources[path.Dir(f.path)], source{set, syntax})
		}
	})
	for _, files := range sources {
		variables := map[string]*ast.ValueSpec{}
		for _, f := range files {
			for _, spec := range packageVariables(f.syntax) {
				for _, name := range spec.Names {
					variables[name.Name] = spec
				}
			}
		}
		for _, f := range files {
			ast.Inspect(f.syntax, func(n ast.Node) bool {
				for _, changed := range changes(n) {
					if name := root(changed); name != nil && refers(name, variables) {
						t.Errorf("%s: changes the package variable %s", f.set.Position(n.Pos()), name.Name)
					}
				}
				return true
			})
		}
	}
}

func packageVariables(syntax *ast.File) (found []*ast.ValueSpec) {
	for _, declaration := range syntax.Decls {
		if d, ok := declaration.(*ast.GenDecl); ok && d.Tok == token.VAR {
			for _, spec := range d.Specs {
				found = append(found, spec.(*ast.ValueSpec))
			}
		}
	}
	return found
}

// changes returns the expressions that n changes or lets others change.
func changes(n ast.Node) []ast.Expr {
	switch n := n.(type) {
	case *ast.AssignStmt:
		if n.Tok != token.DEFINE {
			return n.Lhs
		}
	case *ast.IncDecStmt:
		return []ast.Expr{n.X}
	case *ast.UnaryExpr:
		if n.Op == token.AND {
			return []ast.Expr{n.X}
		}
	}
	return nil
}

// root is the variable at the bottom of a selector or index expression.
func root(e ast.Expr) *ast.Ident {
	switch e := e.(type) {
	case *ast.Ident:
		return e
	case *ast.IndexExpr:
		return root(e.X)
	case *ast.SelectorExpr:
		return root(e.X)
	case *ast.ParenExpr:
		return root(e.X)
	case *ast.StarExpr:
		return root(e.X)
	}
	return nil
}

// refers says whether name means one of the package's variables. The parser
// resolves a name to its declaration inside one file; what it leaves open is a
// name of the package.
func refers(name *ast.Ident, variables map[string]*ast.ValueSpec) bool {
	spec, known := variables[name.Name]
	object := name.Obj
	return known && name.Name != "_" && (object == nil || object.Decl == spec)
}
