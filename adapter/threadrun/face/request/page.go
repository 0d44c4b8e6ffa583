package request

import (
	"slices"

	"github.com/apbridge/apbridge/mapping"
)

// Page holds the parameters that every search has.
type Page struct{ Limit, Offset int }

const maxOffset = 1 << 30

// numbers is the source of a Page: Fields or Query.
type numbers interface {
	Whole(name string, def, min, max int) int
}

// PageOf reads the parameters limit, which defaults to the given one, and offset.
func PageOf(o numbers, limit int) Page {
	return Page{o.Whole("limit", limit, 1, 1000), o.Whole("offset", 0, 0, maxOffset)}
}

// Sort is a value of sort_by and its meaning.
type Sort struct {
	Word string
	By   mapping.SortKey
}

// SortOf reads sort_by and sort_order.
func SortOf(o *Fields, sorts ...Sort) (by mapping.SortKey, asc bool) {
	words := make([]string, len(sorts))
	for i, s := range sorts {
		words[i] = s.Word
	}
	if i := slices.Index(words, o.Enum("sort_by", words...)); i >= 0 {
		by = sorts[i].By
	}
	return by, o.Enum("sort_order", "asc", "desc") == "asc"
}
