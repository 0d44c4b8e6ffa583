package main

import (
	"go/ast"
	"go/token"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var (
	headerName  = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]*(-[A-Za-z0-9]+)*-?$`)
	headerConst = regexp.MustCompile(`^header[A-Z]|Header$`)
	headerList  = regexp.MustCompile("`([A-Za-z][A-Za-z0-9-]*)`")
)

// TestEveryHeaderIsDescribed checks that docs/headers.md names each header that the program reads, sets, removes or
// passes on, and that the first column of its tables names no other.
func TestEveryHeaderIsDescribed(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../docs/headers.md")
	if err != nil {
		t.Fatal(err)
	}
	named, rows := map[string]bool{}, map[string]bool{}
	for line := range strings.Lines(string(raw)) {
		first, _, _ := strings.Cut(strings.TrimPrefix(line, "| "), " | ")
		for _, name := range headerList.FindAllStringSubmatch(line, -1) {
			named[strings.ToLower(name[1])] = true
			if strings.HasPrefix(line, "| ") && strings.Contains(first, name[0]) {
				rows[strings.ToLower(name[1])] = true
			}
		}
	}
	described(t, "header", headersOf(t), named, rows)
}

// headersOf returns the headers in the program's sources, in lower case, each with a place where it occurs.
func headersOf(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	programFiles(t, func(file string, tree *ast.File) {
		note := func(e ast.Expr) {
			literal, ok := e.(*ast.BasicLit)
			if !ok || literal.Kind != token.STRING {
				return
			}
			if name, err := strconv.Unquote(literal.Value); err == nil && headerName.MatchString(name) {
				found[strings.ToLower(name)] = file
			}
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			headersAt(n, note)
			if list, ok := n.(*ast.CompositeLit); ok && strings.HasSuffix(file, "passthrough/headers.go") {
				for _, e := range list.Elts {
					note(e)
				}
			}
			return true
		})
	})
	return found
}

// headersAt records the headers in a node of a source: in calls and members of a header, in constants with such a name,
// and every string that begins with X-.
func headersAt(n ast.Node, note func(ast.Expr)) {
	switch n := n.(type) {
	case *ast.BasicLit:
		if strings.HasPrefix(strings.ToLower(n.Value), `"x-`) {
			note(n)
		}
	case *ast.CallExpr:
		called, ok := n.Fun.(*ast.SelectorExpr)
		if ok && len(n.Args) > 0 && slices.Contains([]string{"Set", "Add", "Get", "Del", "Values"}, called.Sel.Name) && isHeader(called.X) {
			note(n.Args[0])
		}
	case *ast.IndexExpr:
		if isHeader(n.X) {
			note(n.Index)
		}
	case *ast.ValueSpec:
		for i, value := range n.Values {
			if headerConst.MatchString(n.Names[i].Name) {
				note(value)
			}
		}
	}
}

// isHeader reports whether an expression is a header, by its name.
func isHeader(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.CallExpr:
		return isHeader(e.Fun)
	case *ast.SelectorExpr:
		return e.Sel.Name == "Header"
	case *ast.Ident:
		return e.Name == "h" || e.Name == "header" || e.Name == "headers"
	}
	return false
}
