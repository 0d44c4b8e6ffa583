package request

// Page is what every search takes.
type Page struct{ Limit, Offset int }

const maxOffset = 1 << 30

// numbers is what a Page is read from: Fields and Query.
type numbers interface {
	Whole(name string, def, min, max int) int
}

// PageOf reads the parameters limit, with the given one when absent, and offset.
func PageOf(o numbers, limit int) Page {
	return Page{o.Whole("limit", limit, 1, 1000), o.Whole("offset", 0, 0, maxOffset)}
}

// SortOf reads sort_by and sort_order.
func SortOf(o *Fields, keys ...string) (by string, asc bool) {
	return o.Enum("sort_by", keys...), o.Enum("sort_order", "asc", "desc") == "asc"
}
