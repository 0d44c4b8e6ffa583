package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

const troubleshooting = "../../docs/troubleshooting.md"

var (
	snake     = regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`)
	codeConst = regexp.MustCompile(`^([cC]ode|err)[A-Z]`)
	codeRow   = regexp.MustCompile("(?m)^\\| `([a-z_]+)`")
)

// TestEveryErrorCodeIsExplained checks that docs/troubleshooting.md has a row for each code that clients or the log may
// contain, and for no other.
func TestEveryErrorCodeIsExplained(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(troubleshooting)
	if err != nil {
		t.Fatal(err)
	}
	told := map[string]bool{}
	for _, row := range codeRow.FindAllStringSubmatch(string(raw), -1) {
		if told[row[1]] {
			t.Errorf("%s has two rows", row[1])
		}
		told[row[1]] = true
	}
	made := errorCodes(t)
	described(t, "code", made, told, told)
}

// errorCodes returns the codes in the program's sources, each with a place where it occurs.
func errorCodes(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	programFiles(t, func(file string, tree *ast.File) {
		ast.Inspect(tree, func(n ast.Node) bool {
			for _, literal := range codesAt(n) {
				if code, err := strconv.Unquote(literal.Value); err == nil && snake.MatchString(code) {
					found[code] = file
				}
			}
			return true
		})
	})
	return found
}

// codesAt returns the codes in a node of a source: in a constant with such a name, after the class in a
// call of Errorf, or as a member of an error or of its JSON.
func codesAt(n ast.Node) (list []*ast.BasicLit) {
	add := func(e ast.Expr) {
		if literal, ok := e.(*ast.BasicLit); ok && literal.Kind == token.STRING {
			list = append(list, literal)
		}
	}
	switch n := n.(type) {
	case *ast.ValueSpec:
		for i, value := range n.Values {
			if codeConst.MatchString(n.Names[i].Name) {
				add(value)
			}
		}
	case *ast.CallExpr:
		if called, ok := n.Fun.(*ast.SelectorExpr); ok && called.Sel.Name == "Errorf" && len(n.Args) > 2 {
			add(n.Args[1])
		}
	case *ast.KeyValueExpr:
		if key, ok := n.Key.(*ast.Ident); ok && key.Name == "Code" {
			add(n.Value)
		} else if key, ok := n.Key.(*ast.BasicLit); ok && key.Value == `"code"` {
			add(n.Value)
		}
	case *ast.AssignStmt:
		for i, left := range n.Lhs {
			if member, ok := left.(*ast.SelectorExpr); ok && member.Sel.Name == "Code" && len(n.Rhs) == len(n.Lhs) {
				add(n.Rhs[i])
			}
		}
	}
	return list
}

// programFiles visits the sources of the parts that answer clients and call agents.
func programFiles(t *testing.T, look func(file string, tree *ast.File)) {
	t.Helper()
	for _, folder := range []string{"adapter", "mapping", "proxy", "config", "cmd/apbridge/internal/bridge"} {
		err := filepath.WalkDir("../../"+folder, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && (strings.HasSuffix(path, "test") || d.Name() == "testdata" || d.Name() == "toy"):
				return fs.SkipDir
			case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
				return nil
			}
			tree, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err == nil {
				look(strings.TrimPrefix(filepath.ToSlash(path), "../../"), tree)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
